/** Unpacks a backup into a folder, and checks the store in it (D46). */
import { createReadStream } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DATABASE_NAME } from "../../core/backup.ts";
import { LARGE_BYTES } from "../../core/json/json-text.ts";
import { OWNER_FILE } from "../../durable-file.ts";
import { type KeyPlace, type StoreReport, verifyStore } from "../../stores.ts";
import { CliError } from "../errors.ts";
import { type Archive, BadArchive, readArchive } from "./archive.ts";
import { transferBar } from "./transfer-bar.ts";

const PIECE_BYTES = 2 ** 20;

interface Unpacked {
	archive: Archive;
	report: StoreReport;
}

/**
 * Unpacks `file` into the empty `folder`, flushed, and checks it. Throws {@link CliError} if the
 * archive or the store in it is not sound.
 */
export async function unpack(file: string, { folder, key }: { folder: string; key: KeyPlace }): Promise<Unpacked> {
	const { size } = await stat(file).catch((error: unknown) => {
		throw new CliError(`${file} cannot be read: ${(error as Error).message}.`, 1);
	});
	const bar = transferBar("unpacked");
	async function* pieces(): AsyncGenerator<Uint8Array> {
		let read = 0;
		for await (const piece of createReadStream(file, { highWaterMark: PIECE_BYTES })) {
			bar.show((read += (piece as Buffer).length), size);
			yield piece as Buffer;
		}
	}
	try {
		const archive = await readArchive(pieces(), (name, content) => writeEntry(join(folder, placeOf(name)), content));
		bar.stage("checking the store");
		const report = await verifyStore(join(folder, DATABASE_NAME), { migrate: true, key });
		return { archive, report };
	} catch (error) {
		if (error instanceof BadArchive) throw new CliError(`${file} is not a complete backup: ${error.message}.`, 1);
		throw error instanceof CliError ? error : new CliError((error as Error).message, 1);
	} finally {
		bar.clear();
	}
}

/** `payloads/1` belongs into the folder that the database has for it. */
function placeOf(entry: string): string {
	return entry.includes("/") ? `${DATABASE_NAME}.${entry}` : entry;
}

async function writeEntry(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	const file = await open(path, "wx", OWNER_FILE);
	try {
		let bytes = 0;
		for await (const piece of content) {
			await file.writeFile(piece);
			bytes += piece.length;
		}
		// A smaller file has no text, and the database is flushed when it is put in place.
		if (bytes >= LARGE_BYTES) await file.sync();
	} finally {
		await file.close();
	}
}
