/**
 * The keys for stored secrets: from `SLUICE_SECRET`, or with SQLite from a key file next to the database (D22,
 * decisions 0025 and 0033).
 */
import { createHash } from "node:crypto";
import type { KeyRing, SealKeys } from "./encryption.ts";
import { hex, type Random } from "../lib/ids.ts";
import { confirmKeyFile, createKeyFile, LOST, readKeyFile, recovery } from "./key-file.ts";
import { checksIn, joinChecks, keyCheck, type StoredSecrets } from "./key-check.ts";

const KEY_BYTES = 32;

interface KeySource {
	secret: string | undefined;
	/** `SLUICE_SECRET_PREVIOUS`. */
	previousSecret?: string | undefined;
	/** SQLite file. */
	database: string | undefined;
	random: Random;
}

/**
 * Checks the keys against the store. With SQLite a key file is created only if nothing is encrypted yet, and is durable
 * on return. Throws an Error for the operator if a key is missing or wrong.
 */
export function secretKeys(source: KeySource, stored: StoredSecrets): SealKeys {
	const { secret, database } = source;
	if (secret === undefined && database === undefined) throw new Error("SLUICE_SECRET is not set.");
	const required = checksIn(stored);
	const ring = readRing(source, required !== undefined);
	// A killed process may not have flushed the file.
	if (secret === undefined && database !== undefined && !required) confirmKeyFile(database);
	const checks = ring.map((key) => keyCheck(key, stored.identity));
	const current = checks[0] ?? "";
	const accepted = (opened: string, used = opened): SealKeys => ({ ring, checks: { opened, used, alone: current } });
	if (!required) return accepted(current);
	if (!checks.includes(required[0] ?? "")) throw new Error(wrongKey(source));
	if (!required.every((each) => checks.includes(each))) throw new Error(unfinished(source));
	const opened = joinChecks(required);
	return accepted(opened, required.includes(current) ? opened : joinChecks([current, ...required]));
}

/** Undefined if the store has no secrets. */
export function opensSecrets(keys: readonly Uint8Array[], stored: StoredSecrets): boolean | undefined {
	const checks = keys.map((key) => keyCheck(key, stored.identity));
	return checksIn(stored)?.every((each) => checks.includes(each));
}

function readRing({ secret, previousSecret, database, random }: KeySource, inUse: boolean): KeyRing {
	if (secret !== undefined) {
		const current = fromText(secret);
		return previousSecret === undefined ? [current] : [current, fromText(previousSecret)];
	}
	const path = database ?? "";
	return readKeyFile(path) ?? (inUse ? refuseMissing(path) : createKeyFile(path, hex(random(KEY_BYTES))));
}

export function fromText(secret: string): Uint8Array {
	return createHash("sha256").update(secret).digest();
}

function refuseMissing(database: string): never {
	throw new Error(
		`${database}.secret is missing: it holds the key that the secrets in ${database} are encrypted ` +
			"with. If they were encrypted with SLUICE_SECRET, set it to the same text. " +
			recovery(database),
	);
}

function wrongKey({ secret, database }: KeySource): string {
	if (database === undefined)
		return (
			"SLUICE_SECRET is not the one that the secrets in the store are encrypted with. All servers " +
			"of a store need the same text; to replace it, set SLUICE_SECRET_PREVIOUS to the earlier one."
		);
	if (secret !== undefined)
		return (
			`SLUICE_SECRET is not the one that the secrets in ${database} are encrypted with. Set it ` +
			"to the earlier text, or set SLUICE_SECRET_PREVIOUS to that one to replace it; unset both if " +
			`the key was in ${database}.secret. ${LOST} run sluice migrate --store sqlite:${database} ` +
			"--new-secret."
		);
	return (
		`The key in ${database}.secret is not the one that the secrets in ${database} are encrypted ` +
		`with. If that was SLUICE_SECRET, set it to the same text. ${recovery(database)}`
	);
}

function unfinished({ secret, database }: KeySource): string {
	return (
		"Secrets in the store may still be encrypted with the key before this one. " +
		(secret === undefined
			? `Restore the second line of ${database}.secret`
			: "Set SLUICE_SECRET_PREVIOUS to the earlier SLUICE_SECRET") +
		" until 'sluice migrate --reencrypt' reports that nothing is encrypted with it."
	);
}
