/**
 * The encryption key for stored secrets: from `SLUICE_SECRET`, or with SQLite from a key file of
 * mode 0600 next to the database (D22, decision 0025).
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createFile, flushFile } from "./durable-file.ts";
import { hex } from "./ids.ts";
import type { Random } from "./ids.ts";
import { encryption } from "./engine/access/encryption.ts";
import { ANY_KEY, keyCheck } from "./store/key-check.ts";
import type { StoredSecrets } from "./store/key-check.ts";

const KEY_BYTES = 32;

const KEY_TEXT = /^([0-9a-fA-F]{64})\r?\n?$/;

export interface KeySource {
	secret: string | undefined;
	/** SQLite file; undefined with PostgreSQL, whose store checks the key. */
	database: string | undefined;
	random: Random;
}

/**
 * The 32-byte key. SQLite: `stored` is the database's data to check it; a key file is created only
 * if nothing is encrypted yet, and is durable on return. Throws an Error for the operator if the
 * key file is missing or wrong.
 */
export function secretKey(
	{ secret, database, random }: KeySource,
	stored?: StoredSecrets,
): Uint8Array {
	if (database === undefined) {
		if (secret === undefined) throw new Error("SLUICE_SECRET is not set.");
		return fromText(secret);
	}
	const path = `${database}.secret`;
	const inUse =
		stored !== undefined &&
		stored.check !== ANY_KEY &&
		(stored.check !== undefined || stored.encrypted.length > 0);
	const confirmed = inUse && stored.check !== undefined;
	const key =
		secret === undefined
			? (readKey(path, database) ??
				(inUse ? refuseMissing(path, database) : createKey(path, database, random)))
			: fromText(secret);
	if (inUse && !isKeyOf(key, stored))
		throw new Error(wrongKey({ path, database, isFromEnv: secret !== undefined }));
	// An earlier version or a killed process may not have flushed the file.
	if (secret === undefined && !confirmed) flushFile(path);
	return key;
}

function fromText(secret: string): Uint8Array {
	return createHash("sha256").update(secret).digest();
}

/**
 * Without a check value (earlier versions) several keys may have been used: one decrypted text
 * suffices.
 */
function isKeyOf(key: Uint8Array, { identity, check, encrypted }: StoredSecrets): boolean {
	if (check !== undefined) return check === keyCheck(key, identity);
	const { decrypt } = encryption(key, () => new Uint8Array());
	return encrypted.some((text) => decrypt(text).ok);
}

/** Undefined if the file does not exist. */
function readKey(path: string, database: string): Uint8Array | undefined {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw new Error(`The key file ${path} cannot be read: ${(error as Error).message}.`, {
			cause: error,
		});
	}
	const digits = KEY_TEXT.exec(text)?.[1];
	if (digits === undefined)
		throw new Error(
			`${path} does not contain a key of ${2 * KEY_BYTES} hexadecimal digits: it ` +
				`${text === "" ? "is empty" : `has ${text.length} characters that are not a key`}. ` +
				`${recovery(path, database)}`,
		);
	return Buffer.from(digits, "hex");
}

/** If another process creates the file at the same time, returns its key. */
function createKey(path: string, database: string, random: Random): Uint8Array {
	createFile(path, hex(random(KEY_BYTES)));
	return readKey(path, database) ?? refuseMissing(path, database);
}

function refuseMissing(path: string, database: string): never {
	throw new Error(
		`${path} is missing: it holds the key that the secrets in ${database} are encrypted with. ` +
			"If they were encrypted with SLUICE_SECRET, set it to the same text. " +
			`${recovery(path, database)}`,
	);
}

function wrongKey({
	path,
	database,
	isFromEnv,
}: {
	path: string;
	database: string;
	isFromEnv: boolean;
}): string {
	if (isFromEnv)
		return (
			`SLUICE_SECRET is not the one that the secrets in ${database} are encrypted with. Set it ` +
			`to the earlier text, or unset it if the key was in ${path}. ${LOST} run sluice migrate ` +
			`--store sqlite:${database} --new-secret.`
		);
	return (
		`The key in ${path} is not the one that the secrets in ${database} are encrypted with. If ` +
		`that was SLUICE_SECRET, set it to the same text. ${recovery(path, database)}`
	);
}

function recovery(path: string, database: string): string {
	return (
		`Restore ${path} from a backup. ${LOST} delete the file if it exists, run sluice migrate ` +
		`--store sqlite:${database} --new-secret, and start again.`
	);
}

const LOST =
	"If the key is lost, stored s3Config and webhook secrets can no longer be read; to continue without them,";
