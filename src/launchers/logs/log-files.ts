/** Log files of managed workers. A process writes its file directly and outlives the service. */
import {
	closeSync,
	constants,
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

/** Never through a link, which another user may have made. */
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
const TAIL_CHARACTERS = 2_000;
const TAIL_BYTES = 4 * TAIL_CHARACTERS;
const LOG_BYTES = 16 * 1024 * 1024;
/** Retention of ended workers' logs, ms since the last line and total bytes. */
const KEPT_MS = 24 * 3_600_000;
const KEPT_BYTES = 512 * 1024 * 1024;

export function logPath(logDir: string, workerId: string): string {
	return join(logDir, `worker-${encodeURIComponent(workerId)}.log`);
}

export function openLog(logDir: string, workerId: string): number {
	try {
		mkdirSync(logDir, { recursive: true, mode: 0o700 });
		return openSync(logPath(logDir, workerId), APPEND, 0o600);
	} catch (cause) {
		throw new Error(`cannot open the log of worker ${workerId} in ${logDir}: ${(cause as Error).message}`, { cause });
	}
}

/** The last whole lines, at most 2,000 characters, or the end of a longer line. */
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
		// The text is stored in a database, so it has no NUL and no half characters.
		const text = buffer.toString("utf8", 0, length).replaceAll("\0", "").trimEnd();
		if (text.length <= TAIL_CHARACTERS && size <= TAIL_BYTES) return text;
		const end = text.slice(-TAIL_CHARACTERS);
		return end.slice(end.indexOf("\n") + 1).toWellFormed();
	} finally {
		closeSync(file);
	}
}

export function startPath(path: string): string {
	return `${path}.start`;
}

export function marksPath(path: string): string {
	return `${path}.marks`;
}

/** Number of bytes written before the last rotation. */
export function startOf(path: string): number {
	try {
		// The file is not flushed and may be empty or zeros after a power loss. The log then counts from 0.
		return Number(readFileSync(startPath(path), "utf8")) || 0;
	} catch {
		return 0;
	}
}

/**
 * Returns false for a log of at most `limit` bytes. Copies, since the worker holds the file open. Lines written
 * meanwhile may be lost.
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

/** Removes ended workers' logs older than 24 h, then the oldest above `bytes`. `now`: ms since the epoch. */
export async function pruneLogs(
	logDir: string,
	running: Iterable<string>,
	now: number,
	bytes = KEPT_BYTES,
): Promise<void> {
	const inUse = new Set([...running].map((id) => logPath(logDir, id)));
	const logs = (await logsIn(logDir)).filter(({ path }) => !inUse.has(path));
	logs.sort((a, b) => b.changed - a.changed);
	let kept = 0;
	for (const { path, changed, size } of logs) {
		kept += size;
		if (now - changed <= KEPT_MS && kept <= bytes) continue;
		for (const each of [path, `${path}.old`, startPath(path), marksPath(path)]) await rm(each, { force: true });
	}
}

/** `changed`: ms since the epoch. */
export async function logsIn(
	logDir: string,
): Promise<{ path: string; workerId: string; changed: number; size: number }[]> {
	const names = await readdir(logDir).catch(() => []);
	return await Promise.all(
		names.flatMap((name) => {
			const id = workerIn(name);
			return id === undefined ? [] : [kept(join(logDir, name), id)];
		}),
	);
}

function workerIn(name: string): string | undefined {
	try {
		return decodeURIComponent(/^worker-(.+)\.log$/.exec(name)?.[1] ?? "") || undefined;
	} catch {
		return undefined;
	}
}

async function kept(
	path: string,
	workerId: string,
): Promise<{ path: string; workerId: string; changed: number; size: number }> {
	return {
		path,
		workerId,
		changed: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0,
		size: (await sizeOf(path)) + (await sizeOf(`${path}.old`)),
	};
}

async function sizeOf(path: string): Promise<number> {
	return (await stat(path).catch(() => undefined))?.size ?? 0;
}
