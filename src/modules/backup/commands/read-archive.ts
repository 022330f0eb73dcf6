/** Reads the archive of a backup (D46): its form, and the digests of its entries. */
import { createHash, type Hash, hash as digestOf } from "node:crypto";
import { text as textOf } from "node:stream/consumers";
import { createTarDecoder } from "modern-tar";
import { DATABASE_NAME } from "../../../kernel/store/contract/store.ts";
import {
	BACKUP_FORMAT,
	backupInfo,
	type BackupInfo,
	INFO_NAME,
	isEntryName,
	parseSums,
	SUMS_NAME,
} from "../archive-form.ts";

const MOST_TEXT = 64 * 2 ** 20;

/** An archive that is refused. The message is the end of a sentence. */
export class BadArchive extends Error {}

export interface Archive {
	info: BackupInfo;
	files: { name: string; bytes: number }[];
}

/** Reads an archive. Throws {@link BadArchive}, and the errors of `pieces` and `sink`. */
export async function readArchive(
	pieces: AsyncIterable<Uint8Array>,
	sink: (name: string, content: AsyncIterable<Uint8Array>) => Promise<void> = drain,
): Promise<Archive> {
	const found = new Map<string, string>();
	const files: Archive["files"] = [];
	let info: BackupInfo | undefined;
	let sums: Map<string, string> | undefined;
	const entries = ReadableStream.from(readable(pieces)).pipeThrough(createTarDecoder({ strict: true }));
	for await (const entry of faults(entries)) {
		const { name, size, type } = entry.header;
		if (sums) throw new BadArchive(`${name} follows after ${SUMS_NAME}`);
		if (type !== "file" || !isEntryName(name)) throw new BadArchive(`it contains '${name}'`);
		if (found.has(name)) throw new BadArchive(`it contains ${name} twice`);
		const isText = !info || name === SUMS_NAME;
		if (isText && size > MOST_TEXT) throw new BadArchive("an entry is too large");
		if (!info) {
			if (name !== INFO_NAME) throw new BadArchive(`it does not begin with ${INFO_NAME}`);
			const text = await textOf(faults(entry.body));
			info = readInfo(text);
			found.set(name, digestOf("sha256", text));
		} else if (name === SUMS_NAME) {
			sums = parseSums(await textOf(faults(entry.body)));
			if (!sums) throw new BadArchive(`${SUMS_NAME} cannot be read`);
		} else {
			const hash = createHash("sha256");
			await sink(name, hashed(entry.body, hash));
			found.set(name, hash.digest("hex"));
			files.push({ name, bytes: size });
		}
	}
	if (!info) throw new BadArchive("it is empty");
	if (!sums) throw new BadArchive(`it ends before ${SUMS_NAME}: it was truncated`);
	compare(found, sums);
	if (!found.has(DATABASE_NAME)) throw new BadArchive(`it has no ${DATABASE_NAME}`);
	return { info, files };
}

function readInfo(text: string): BackupInfo {
	const info = backupInfo(text);
	if (!info) throw new BadArchive(`${INFO_NAME} cannot be read`);
	if (info.format > BACKUP_FORMAT)
		throw new BadArchive(
			`it was made by Sluice ${info.sluice} in a newer form (${info.format}, and this version knows ` +
				`${BACKUP_FORMAT}); use that version`,
		);
	return info;
}

function compare(found: ReadonlyMap<string, string>, sums: ReadonlyMap<string, string>): void {
	for (const [name, sum] of sums)
		if (found.get(name) !== sum)
			throw new BadArchive(found.has(name) ? `the content of ${name} was changed` : `${name} is missing`);
	for (const name of found.keys()) if (!sums.has(name)) throw new BadArchive(`${name} is not listed in ${SUMS_NAME}`);
}

/** The decoder reports errors of its source like its own. This type keeps them apart. */
class SourceError extends Error {}

async function* readable(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
	try {
		yield* pieces;
	} catch (error) {
		throw new SourceError("", { cause: error });
	}
}

async function* faults<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
	try {
		yield* stream;
	} catch (error) {
		if (error instanceof SourceError) throw error.cause;
		if (error instanceof BadArchive) throw error;
		const { message } = error as Error;
		throw new BadArchive(message.replace(/\.$/, "").replace(/^./, (letter) => letter.toLowerCase()));
	}
}

async function* hashed(body: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
	for await (const piece of faults(body)) {
		hash.update(piece);
		yield piece;
	}
}

async function drain(_name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
	for await (const _ of pieces);
}
