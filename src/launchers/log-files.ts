/**
 * The log file of each launched process. The worker writes to it itself, so that it outlives the
 * service; the service only reads, bounds and removes.
 */
import {
	closeSync,
	copyFileSync,
	mkdirSync,
	openSync,
	readFileSync,
	readSync,
	fstatSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Longest tail of the output, in characters. */
const TAIL_CHARACTERS = 2_000;
/** Enough bytes for that many characters of UTF-8. */
const TAIL_BYTES = 4 * TAIL_CHARACTERS;
/** A log that grew beyond this many bytes is set aside and begun anew. */
const LOG_BYTES = 16 * 1024 * 1024;
/**
 * How long logs of ended workers are kept, ms from their last line, and how many bytes of them
 * together.
 */
const KEPT_MS = 24 * 3_600_000;
const KEPT_BYTES = 512 * 1024 * 1024;

/** Path of a worker's log in `logDir`. What is set aside is beside it, with `.old` at the end. */
export function logPath(logDir: string, workerId: string): string {
	return join(logDir, `worker-${encodeURIComponent(workerId)}.log`);
}

/**
 * Opens a log for a worker to write to and returns its descriptor. Makes its folder; both are for
 * this user's eyes only. Throws a sentence when it cannot.
 */
export function openLog(logDir: string, workerId: string): number {
	try {
		mkdirSync(logDir, { recursive: true, mode: 0o700 });
		return openSync(logPath(logDir, workerId), "a", 0o600);
	} catch (cause) {
		throw new Error(
			`cannot open the log of worker ${workerId} in ${logDir}: ${(cause as Error).message}`,
			{ cause },
		);
	}
}

/**
 * The last whole lines of a log, at most 2,000 characters; of a longer line its end. Empty when
 * there is none.
 */
export function tail(path: string): string {
	let file: number;
	try {
		file = openSync(path, "r");
	} catch {
		return "";
	}
	try {
		const { size } = fstatSync(file);
		const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
		const length = readSync(file, buffer, 0, buffer.length, size - buffer.length);
		// No NUL and no half characters: the text goes into a database.
		const text = buffer.toString("utf8", 0, length).replaceAll("\0", "").trimEnd();
		if (text.length <= TAIL_CHARACTERS && size <= TAIL_BYTES) return text;
		const end = text.slice(-TAIL_CHARACTERS);
		return end.slice(end.indexOf("\n") + 1).toWellFormed();
	} finally {
		closeSync(file);
	}
}

/**
 * Where the number of bytes that were written before the log began is kept, once it was begun anew.
 */
export function startPath(path: string): string {
	return `${path}.start`;
}

/** How many bytes were written before the log began. */
export function startOf(path: string): number {
	try {
		// Logs are not flushed: after a power loss it may be empty or zeros, and the log counts from
		// its beginning.
		return Number(readFileSync(startPath(path), "utf8")) || 0;
	} catch {
		return 0;
	}
}

/**
 * Sets a log aside and begins it anew when it is longer than `limit` bytes (16 MiB); lines written
 * in that moment may be lost. False when there was no need.
 */
export function boundLog(path: string, limit = LOG_BYTES): boolean {
	try {
		if (statSync(path).size <= limit) return false;
		copyFileSync(path, `${path}.old`);
		writeFileSync(startPath(path), String(startOf(path) + statSync(`${path}.old`).size), {
			mode: 0o600,
		});
		truncateSync(path);
		return true;
	} catch {
		return false;
	}
}

/**
 * Removes logs of ended workers: those over 24 h old, and the oldest until all have at most `bytes`
 * (512 MiB) together. `now` in ms since the epoch.
 */
export async function pruneLogs(
	logDir: string,
	running: Iterable<string>,
	now: number,
	bytes = KEPT_BYTES,
): Promise<void> {
	const inUse = new Set([...running].map((id) => logPath(logDir, id)));
	const names = await readdir(logDir).catch(() => []);
	const paths = names
		.filter((name) => /^worker-.*\.log$/.test(name))
		.map((name) => join(logDir, name))
		.filter((path) => !inUse.has(path));
	const logs = await Promise.all(
		paths.map(async (path) => ({
			path,
			changed: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0,
			size: (await sizeOf(path)) + (await sizeOf(`${path}.old`)),
		})),
	);
	logs.sort((a, b) => b.changed - a.changed);
	let kept = 0;
	for (const { path, changed, size } of logs) {
		kept += size;
		if (now - changed <= KEPT_MS && kept <= bytes) continue;
		for (const each of [path, `${path}.old`, startPath(path)]) await rm(each, { force: true });
	}
}

async function sizeOf(path: string): Promise<number> {
	return (await stat(path).catch(() => undefined))?.size ?? 0;
}
