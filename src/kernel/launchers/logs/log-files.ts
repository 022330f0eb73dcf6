/** Log files of managed workers. A process writes its file directly and outlives the service. */
import { type FileHandle, mkdir, readFile, readlink, rm, stat, truncate, writeFile } from "node:fs/promises";
import { constants } from "node:fs";
import { dirname, join } from "node:path";
import { fileCalls } from "../../system/file-calls.ts";

/** Never through a link, which another user may have made. */
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
/** What a worker prints may be secret. */
export const OWNER_FILE = 0o600;
/** Much more than is kept of it, because values must be hidden before it is cut. */
const TAIL_BYTES = 64 * 1024;
export const LOG_BYTES = 16 * 1024 * 1024;
/** A log is copied in pieces, each a call that may hang. */
const PIECE_BYTES = 1024 * 1024;

/** Where a log is. On shared platforms its path is a link to a file of a folder that may hang. */
export interface LogPlace {
	path: string;
	file: string;
	/** The group of its file's calls; undefined: it is on this machine. */
	group: string | undefined;
}

export function logPath(logDir: string, workerId: string): string {
	return join(logDir, `worker-${encodeURIComponent(workerId)}.log`);
}

/** The calls of one shared folder hang together: workers' folders are two below it (`src/modules/slurm/script.ts`). */
export function sharedGroup(folder: string): string {
	return dirname(dirname(folder));
}

/** Rejects if there is neither a log nor a link. `group`: of the calls on a shared folder. */
export async function placeOf(path: string, group?: string): Promise<LogPlace> {
	try {
		const file = await fileCalls.run(path, () => readlink(path), group);
		return { path, file, group: sharedGroup(dirname(file)) };
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
		return { path, file: path, group };
	}
}

/** The file is opened for reading, and closed after `use`. */
export async function reading<T>({ file, group }: LogPlace, use: (handle: FileHandle) => Promise<T>): Promise<T> {
	const handle = await fileCalls.open(file, "r", { group });
	try {
		return await use(handle);
	} finally {
		handle.close().catch(() => {});
	}
}

/** `length` bytes from `position` on, or those that are there. */
export async function bytesOf({ file, group }: LogPlace, handle: FileHandle, position: number, length: number) {
	const buffer = Buffer.alloc(length);
	const { bytesRead } = await fileCalls.run(file, () => handle.read(buffer, 0, length, position), group);
	return buffer.subarray(0, bytesRead);
}

export async function sizeOf({ file, group }: LogPlace): Promise<number> {
	return (await fileCalls.run(file, () => stat(file), group)).size;
}

/** Opens it for appending. `group`: of the calls on a shared folder. */
export async function openLog(logDir: string, workerId: string, group?: string): Promise<FileHandle> {
	const path = logPath(logDir, workerId);
	try {
		await fileCalls.run(logDir, () => mkdir(logDir, { recursive: true, mode: 0o700 }), group);
		return await fileCalls.open(path, APPEND, { group, mode: OWNER_FILE });
	} catch (cause) {
		throw new Error(`cannot open the log of worker ${workerId} in ${logDir}: ${(cause as Error).message}`, { cause });
	}
}

/** The last whole lines, at most 64 KiB, or the end of a longer line. Empty if it cannot be read. */
export async function tail(path: string): Promise<string> {
	try {
		const place = await placeOf(path);
		return await reading(place, async (handle) => {
			const { size } = await fileCalls.run(place.file, () => handle.stat(), place.group);
			const length = Math.min(size, TAIL_BYTES);
			const bytes = await bytesOf(place, handle, size - length, length);
			// The text is stored in a database, so it has no NUL and no half characters.
			const text = bytes.toString("utf8").replaceAll("\0", "").trimEnd();
			return size <= TAIL_BYTES ? text : text.slice(text.indexOf("\n") + 1).replace(/^\ufffd+/, "");
		});
	} catch {
		return "";
	}
}

export function oldPath(path: string): string {
	return `${path}.old`;
}

export function startPath(path: string): string {
	return `${path}.start`;
}

export function marksPath(path: string): string {
	return `${path}.marks`;
}

const turns = new Map<string, Promise<unknown>>();

/** One at a time: a log, what is set aside of it and its positions change together. */
export async function inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
	const before = turns.get(path);
	const turn = (async () => {
		await before?.catch(() => {});
		return await work();
	})();
	turns.set(path, turn);
	try {
		return await turn;
	} finally {
		if (turns.get(path) === turn) turns.delete(path);
	}
}

/** The starts of the logs of running workers. A log that is being shortened has none. */
const starts = new Map<string, number>();

/** Known in this turn of the event loop after {@link keepStart}, but not while the log is being shortened. */
export const startNow = (path: string): number | undefined => starts.get(path);

export async function keepStart(path: string): Promise<void> {
	starts.set(path, await startOf(path));
}

export function forgetStart(path: string): void {
	starts.delete(path);
}

/** Number of bytes written before the last rotation. */
export async function startOf(path: string): Promise<number> {
	const file = startPath(path);
	try {
		// The file is not flushed and may be empty or zeros after a power loss. The log then counts from 0.
		return starts.get(path) ?? (Number(await fileCalls.run(file, () => readFile(file, "utf8"))) || 0);
	} catch {
		return 0;
	}
}

/**
 * Returns false for a log of at most `limit` bytes. Sets the last `limit` bytes aside by copying, since the worker
 * holds the file open, and empties it. Lines written meanwhile are lost. So is all of it where the copy fails, as on a
 * full disk, which the log must not keep full.
 */
export function boundLog(path: string, limit = LOG_BYTES): Promise<boolean> {
	return inTurn(path, async () => {
		try {
			const place = await placeOf(path);
			const size = await sizeOf(place);
			if (size <= limit) return false;
			const old = oldPath(path);
			await setAside(place, size - limit, size).catch(() => fileCalls.run(old, () => rm(old, { force: true })));
			await empty(place, (await startOf(path)) + size);
			return true;
		} catch {
			return false;
		}
	});
}

async function setAside(place: LogPlace, from: number, to: number): Promise<void> {
	const old = oldPath(place.path);
	await reading(place, async (handle) => {
		const copy = await fileCalls.open(old, "w", { mode: OWNER_FILE });
		try {
			for (let at = from; at < to; ) {
				const bytes = await bytesOf(place, handle, at, Math.min(PIECE_BYTES, to - at));
				if (bytes.length === 0) break;
				await fileCalls.run(old, () => copy.writeFile(bytes));
				at += bytes.length;
			}
		} finally {
			copy.close().catch(() => {});
		}
	});
}

async function empty({ path, file, group }: LogPlace, start: number): Promise<void> {
	const isKept = starts.delete(path);
	const text = startPath(path);
	try {
		// Without it later positions repeat earlier ones, which is better than a full disk.
		await fileCalls.run(text, () => writeFile(text, String(start), { mode: OWNER_FILE })).catch(() => {});
		await fileCalls.run(file, () => truncate(file), group);
	} finally {
		if (isKept) starts.set(path, start);
	}
}
