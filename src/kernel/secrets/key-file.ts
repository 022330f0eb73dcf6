/**
 * The key file next to a SQLite store (D22, decision 0025). A second line has the key that it replaces until nothing is
 * encrypted with that (decision 0033).
 */
import { readFileSync } from "node:fs";
import { createFile, flushFile, replaceFile, requireKind } from "../system/durable-file.ts";

const KEY_TEXT = /^([0-9a-fA-F]{64})(?:\r?\n([0-9a-fA-F]{64}))?\r?\n?$/;

type Keys = readonly [current: Uint8Array, ...earlier: Uint8Array[]];

const pathOf = (database: string): string => `${database}.secret`;

/** Undefined if the file does not exist. Throws an Error for the operator. */
export function readKeyFile(database: string, path = pathOf(database)): Keys | undefined {
	let text: string;
	// Another file may be a pipe of the shell.
	if (path === pathOf(database)) requireKind(path, "file");
	try {
		text = readFileSync(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw new Error(`The key file ${path} cannot be read: ${(error as Error).message}.`, {
			cause: error,
		});
	}
	const [, current, previous] = KEY_TEXT.exec(text) ?? [];
	if (current === undefined)
		throw new Error(
			`${path} does not contain a key of 64 hexadecimal digits: it ` +
				`${text === "" ? "is empty" : `has ${text.length} characters that are not a key`}. ` +
				recovery(database),
		);
	return previous === undefined
		? [Buffer.from(current, "hex")]
		: [Buffer.from(current, "hex"), Buffer.from(previous, "hex")];
}

/** If another process creates the file at the same time, returns its keys. */
export function createKeyFile(database: string, key: string): Keys {
	createFile(pathOf(database), key);
	return readKeyFile(database) ?? [Buffer.from(key, "hex")];
}

/** Flushes a file that this process did not write. */
export function confirmKeyFile(database: string): void {
	flushFile(pathOf(database));
}

/** Throws an Error for the operator. */
export function rotateKeyFile(database: string, key: string): void {
	const [current, previous] = readKeyFile(database) ?? [];
	if (current === undefined) throw new Error(`${pathOf(database)} is missing: no key of a file is in use.`);
	if (previous !== undefined)
		throw new Error(
			`${pathOf(database)} already has a new key. Run sluice migrate --reencrypt, which encrypts the stored ` +
				"secrets with it.",
		);
	replaceFile(pathOf(database), `${key}\n${hexOf(current)}\n`);
}

/** Only when nothing is encrypted with the second key any more. */
export function removePreviousKey(database: string): void {
	const [current, previous] = readKeyFile(database) ?? [];
	if (current && previous) replaceFile(pathOf(database), hexOf(current));
}

const hexOf = (key: Uint8Array): string => Buffer.from(key).toString("hex");

export function recovery(database: string): string {
	return (
		`Restore ${pathOf(database)} from a backup ('sluice backup' does not copy it). ${LOST} delete the file ` +
		"if it exists, run sluice " +
		`migrate --store sqlite:${database} --new-secret, and start again.`
	);
}

export const LOST =
	"If the key is lost, stored s3Config, webhook secrets and values of env can no longer be read; " +
	"to continue without them,";
