/** Unpacks a backup into a folder, and checks the store in it (D46). */
import { createReadStream, rmSync } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DATABASE_NAME } from "../../../kernel/store/contract/store.ts";
import { OWNER_FILE } from "../../../kernel/system/durable-file.ts";
import { type KeyPlace, type StoreReport, verifyStore } from "../../../kernel/stores.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { fail } from "../../../cli/client/store-flags.ts";
import { type Archive, BadArchive, readArchive } from "./read-archive.ts";
import { transferBar } from "../../../cli/framework/progress-bar.ts";

const PIECE_BYTES = 2 ** 20;

/** Removes the folder after `use` or at the end of the process. */
export async function inTemporaryFolder<T>(folder: string, use: () => Promise<T>): Promise<T> {
	const remove = (): void => rmSync(folder, { recursive: true, force: true });
	process.once("exit", remove);
	try {
		return await use();
	} finally {
		process.off("exit", remove);
		remove();
	}
}

/**
 * Unpacks into an empty folder, flushes, and checks. Throws {@link CliError} if the archive or its store is not
 * sound.
 */
export async function unpack(
	file: string,
	{ folder, key }: { folder: string; key: KeyPlace },
): Promise<{ archive: Archive; report: StoreReport }> {
	const { size } = await stat(file).catch((error: unknown) => {
		throw new CliError(`${file} cannot be read: ${(error as Error).message}.`, 1);
	});
	const bar = transferBar("unpacked");
	async function* pieces(): AsyncGenerator<Buffer> {
		let read = 0;
		for await (const piece of createReadStream(file, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Buffer>) {
			bar.show((read += piece.length), size);
			yield piece;
		}
	}
	try {
		const archive = await readArchive(pieces(), (name, content) => writeEntry(join(folder, placeOf(name)), content));
		bar.stage("checking the store");
		const report = await verifyStore(join(folder, DATABASE_NAME), { migrate: true, key });
		return { archive, report };
	} catch (error) {
		if (error instanceof BadArchive) throw new CliError(`${file} is not a complete backup: ${error.message}.`, 1);
		return fail(error);
	} finally {
		bar.clear();
	}
}

function placeOf(entry: string): string {
	return entry.includes("/") ? `${DATABASE_NAME}.${entry}` : entry;
}

async function writeEntry(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	const file = await open(path, "wx", OWNER_FILE);
	try {
		await file.writeFile(content);
		// The database is flushed when it is put in place.
		await file.sync();
	} finally {
		await file.close();
	}
}
