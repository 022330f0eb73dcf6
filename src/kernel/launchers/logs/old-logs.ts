/** Which logs are there, and which of them are removed. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileCalls } from "../../system/file-calls.ts";
import { logPath, marksPath, oldPath, placeOf, sizeOf, startPath } from "./log-files.ts";
import { LOG_SOURCES, sourcePath } from "./log-sources.ts";

/** Retention of ended workers' logs, ms since the last line and total bytes. */
const KEPT_MS = 24 * 3_600_000;
const KEPT_BYTES = 512 * 1024 * 1024;

interface KeptLog {
	path: string;
	workerId: string;
	/** Ms since the epoch; 0 for a link to nothing. */
	changed: number;
	size: number;
}

/**
 * Removes ended workers' logs older than 24 h, then the oldest above `bytes`. `now`: ms since the epoch. `group`: of
 * the calls on a shared folder.
 */
export async function pruneLogs(
	logDir: string,
	q: { running: () => Iterable<string>; now: number; bytes?: number; group?: string },
): Promise<void> {
	const { now, bytes = KEPT_BYTES, group } = q;
	const found = await logsIn(logDir, group);
	// Only now, so that a worker that has started meanwhile keeps its log.
	const inUse = new Set([...q.running()].map((id) => logPath(logDir, id)));
	const logs = found.filter(({ path }) => !inUse.has(path));
	logs.sort((a, b) => b.changed - a.changed);
	let kept = 0;
	for (const { path, changed, size } of logs) {
		kept += size;
		if (now - changed <= KEPT_MS && kept <= bytes) continue;
		const ofSources = LOG_SOURCES.map((source) => sourcePath(path, source));
		for (const each of [path, oldPath(path), startPath(path), marksPath(path), ...ofSources])
			await fileCalls.run(each, () => rm(each, { force: true }), group);
	}
}

/** Leaves out those of folders that do not answer. */
export async function logsIn(logDir: string, group?: string): Promise<KeptLog[]> {
	const names = await fileCalls.run(logDir, () => readdir(logDir), group).catch(() => []);
	const found = names.map(async (name) => {
		const id = workerIn(name);
		return id === undefined ? undefined : await kept(join(logDir, name), id, group).catch(() => undefined);
	});
	return (await Promise.all(found)).filter((log) => log !== undefined);
}

function workerIn(name: string): string | undefined {
	try {
		return decodeURIComponent(/^worker-(.+)\.log$/.exec(name)?.[1] ?? "") || undefined;
	} catch {
		return undefined;
	}
}

async function kept(path: string, workerId: string, group: string | undefined): Promise<KeptLog> {
	const place = await placeOf(path, group);
	const { mtimeMs, size } = await fileCalls
		.run(place.file, () => stat(place.file), place.group)
		.catch((error: NodeJS.ErrnoException) => {
			if (error.code !== "ENOENT") throw error;
			return { mtimeMs: 0, size: 0 };
		});
	const old = oldPath(path);
	const oldSize = await sizeOf({ ...place, file: old, group }).catch(() => 0);
	return { path, workerId, changed: mtimeMs, size: size + oldSize };
}
