/**
 * Bytes of files in a folder beside the SQLite store. A file is written as `ID.part` and renamed to `ID` when it is
 * durable, before its row is stored: the row decides whether it exists. No name is a client's text.
 */
import { type FileHandle, mkdir, open, opendir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ApiError } from "../../../kernel/core/errors.ts";
import type { ByteRange } from "../../../kernel/engine/stored-files.ts";
import type { Clock } from "../../../kernel/system/clock.ts";
import type { FilesFolder, FileStore } from "../../../kernel/store/contract/files.ts";
import { StoreUnavailable } from "../../../kernel/store/contract/store.ts";
import { ERRORS } from "../errors.ts";
import { inBlocks } from "./blocks.ts";
import type { ContentWriter, FileContents } from "./contents.ts";

const BUFFER_BYTES = 256 * 1024;

/** Two are gathered at a time. */
const BLOCK_BYTES = BUFFER_BYTES / 2;

/**
 * Large amounts of unwritten data would delay the flushes of commits. Twice these are unwritten at most, since as many
 * arrive while the ones before are flushed.
 */
const FLUSHED_BYTES = 8 * 2 ** 20;

const NAME = /^(file-[0-9a-f]{32})(\.part)?$/;
const NO_ROOM: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);
const SWEPT = 100;

type Rows = Pick<FileStore, "unknown">;

/** `clock`: the file system has the time of day. */
export function folderContents(folder: FilesFolder, rows: Rows, clock: Pick<Clock, "wall">): FileContents {
	const pathOf = (id: string): string => join(folder.path, id);
	/** Ids whose row may still be stored. */
	const writing = new Set<string>();
	return {
		memory: { upload: BUFFER_BYTES, download: BUFFER_BYTES },
		async create(id) {
			writing.add(id);
			const done = (): void => void writing.delete(id);
			return await unavailable(folder.path, () => created(folder, id, done)).catch((error: unknown) => {
				done();
				throw error;
			});
		},

		async open({ id, bytes }, range) {
			const file = await open(pathOf(id), "r").catch((error: unknown) => {
				if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new ApiError(ERRORS.file_missing, { file: id });
				throw unreadable(pathOf(id), error);
			});
			const { size } = await file.stat();
			if (size === bytes) return { [Symbol.asyncIterator]: () => piecesOf(file, range), close: () => file.close() };
			await file.close();
			throw new ApiError(ERRORS.file_missing, { file: id });
		},

		remove: (id) => folder.remove(id).catch(() => {}),

		async sweep(ageMs) {
			const before = clock.wall() - ageMs;
			let ids: string[] = [];
			const removeUnknown = async (): Promise<void> => {
				for (const id of await rows.unknown({ ids })) await folder.remove(id);
				ids = [];
			};
			for await (const name of namesIn(folder.path)) {
				const [, id, isPart] = NAME.exec(name) ?? [];
				if (id === undefined || writing.has(id) || !(await isOld(pathOf(name), before))) continue;
				if (isPart) await rm(pathOf(name), { force: true });
				else if (ids.push(id) === SWEPT) await removeUnknown();
			}
			await removeUnknown();
		},
	};
}

async function created(place: FilesFolder, id: string, done: () => void): Promise<ContentWriter> {
	const { path: folder } = place;
	const path = join(folder, id);
	await makeFolder(folder);
	const part = `${path}.part`;
	const file = await open(part, "wx", 0o600);
	let unflushed = 0;
	let flushing: Promise<void> = Promise.resolve();
	const blocks = inBlocks(BLOCK_BYTES, async (block) => {
		await writeAll(file, block);
		unflushed += block.length;
		if (unflushed < FLUSHED_BYTES) return;
		unflushed = 0;
		await flushing;
		flushing = file.datasync();
		// Awaited before the next flush: the system reports a failure to one flush only.
		flushing.catch(() => {});
	});

	return {
		write: (piece) => unavailable(folder, () => blocks.write(piece)),
		finish: () =>
			unavailable(folder, async () => {
				await blocks.end();
				await flushing;
				await file.datasync();
				await file.close();
				await rename(part, path);
				await flushNames(folder);
			}),
		done,
		async drop() {
			done();
			await file.close().catch(() => {});
			// The sweep finds what cannot be removed now. A backup may have found the complete file.
			await rm(part, { force: true }).catch(() => {});
			await place.remove(id).catch(() => {});
		},
	};
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
	// A full disk may accept a part; the next write reports the reason.
	for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

async function makeFolder(path: string): Promise<void> {
	try {
		await mkdir(path, 0o700);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
		throw error;
	}
	await flushNames(dirname(path));
}

async function flushNames(folder: string): Promise<void> {
	const names = await open(folder, "r");
	try {
		await names.sync();
	} finally {
		await names.close();
	}
}

/** Each piece is in the same buffer ([1](../README.md#buffers)). */
async function* piecesOf(file: FileHandle, { start, end }: ByteRange): AsyncGenerator<Uint8Array, void> {
	const buffer = Buffer.allocUnsafe(Math.min(BUFFER_BYTES, end - start));
	for (let at = start; at < end; ) {
		const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at), at);
		if (bytesRead === 0) throw new Error(`The file ends after ${at} of ${end} bytes.`);
		at += bytesRead;
		yield buffer.subarray(0, bytesRead);
	}
}

async function* namesIn(folder: string): AsyncGenerator<string> {
	try {
		for await (const { name } of await opendir(folder)) yield name;
	} catch (error) {
		// Nothing was uploaded yet.
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
	}
}

/** A file that was removed meanwhile is not. */
async function isOld(path: string, before: number): Promise<boolean> {
	const found = await stat(path).catch(() => undefined);
	return found !== undefined && found.mtimeMs < before;
}

async function unavailable<T>(folder: string, work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		const why = NO_ROOM.has(code) ? "full" : "unwritable";
		throw new StoreUnavailable(why, `${folder} cannot be written: ${message}.`, { cause: error });
	}
}

function unreadable(path: string, error: unknown): StoreUnavailable {
	return new StoreUnavailable("unreadable", `${path} cannot be read: ${(error as Error).message}.`, { cause: error });
}
