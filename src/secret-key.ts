/**
 * The key for secrets in the store: from `SLUICE_SECRET`, or with SQLite from a file beside the
 * database that only its owner may read (D22, decision 0025).
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

/** What a key file holds: 64 hex digits, and possibly a line end. */
const KEY_TEXT = /^([0-9a-fA-F]{64})\r?\n?$/;

/** Where the key is from. */
export interface KeySource {
	/** `SLUICE_SECRET`. */
	secret: string | undefined;
	/** Path of the SQLite file; undefined with PostgreSQL, which checks the key by itself. */
	database: string | undefined;
	random: Random;
}

/**
 * The key, 32 bytes. With SQLite `stored` says what the database knows of its key: a key file is
 * made only where nothing is encrypted, and is durable before this returns. Throws an Error with a
 * sentence for the operator when the file does not hold a key, is missing, or the key is not that
 * of the database.
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
				(inUse ? refuseMissing(path, database) : makeKey(path, database, random)))
			: fromText(secret);
	if (inUse && !fits(key, stored))
		throw new Error(wrongKey({ path, database, given: secret !== undefined }));
	// It may have been written by an earlier version, which did not flush it, or by a process that
	// was killed before it did.
	if (secret === undefined && !confirmed) flushFile(path);
	return key;
}

function fromText(secret: string): Uint8Array {
	return createHash("sha256").update(secret).digest();
}

/**
 * Whether the database was encrypted with this key. Before check values any key was taken, so
 * several may have been used: one text that it decrypts is enough.
 */
function fits(key: Uint8Array, { identity, check, encrypted }: StoredSecrets): boolean {
	if (check !== undefined) return check === keyCheck(key, identity);
	const { open } = encryption(key, () => new Uint8Array());
	return encrypted.some((text) => open(text).ok);
}

/** The key in the file; undefined when there is no file. */
function readKey(path: string, database: string): Uint8Array | undefined {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw new Error(`The key for secrets in ${path} cannot be read: ${(error as Error).message}.`, {
			cause: error,
		});
	}
	const digits = KEY_TEXT.exec(text)?.[1];
	if (digits === undefined)
		throw new Error(
			`${path} does not hold a key: it must be ${2 * KEY_BYTES} hexadecimal digits, and ${text === "" ? "is empty" : `has ${text.length} characters of something else`}. ${wayOut(path, database)}`,
		);
	return Buffer.from(digits, "hex");
}

/**
 * Makes the key file, unless another process does it at the same time: then the key is that one's.
 */
function makeKey(path: string, database: string, random: Random): Uint8Array {
	createFile(path, hex(random(KEY_BYTES)));
	return readKey(path, database) ?? refuseMissing(path, database);
}

function refuseMissing(path: string, database: string): never {
	throw new Error(
		`${path} is missing: it holds the key that the secrets in ${database} are encrypted with. If they were encrypted with SLUICE_SECRET, set it to the same text. ${wayOut(path, database)}`,
	);
}

function wrongKey({
	path,
	database,
	given,
}: {
	path: string;
	database: string;
	given: boolean;
}): string {
	if (given)
		return `SLUICE_SECRET is not the one that the secrets in ${database} are encrypted with. Set it to the earlier text, or unset it if the key was in ${path}. ${LOST} run sluice migrate --store sqlite:${database} --new-secret.`;
	return `The key in ${path} is not the one that the secrets in ${database} are encrypted with. If that was SLUICE_SECRET, set it to the same text. ${wayOut(path, database)}`;
}

function wayOut(path: string, database: string): string {
	return `Restore ${path} from a backup. ${LOST} delete the file if it exists, run sluice migrate --store sqlite:${database} --new-secret, and start again.`;
}

/** What it means that the key is lost. */
const LOST =
	"If the key is lost, stored s3Config and webhook secrets can no longer be read; to continue without them,";
