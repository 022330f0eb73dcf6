/**
 * The folder that the service and the nodes share: variables of workers until they have read them,
 * and their output, which the nodes write directly. The log in `logDir` is a link to it.
 */
import { closeSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { logPath, openLog, pruneLogs } from "../log-files.ts";
import { folderOf, type SlurmSpec, variablesFile, variablesPath, volumesOf } from "./script.ts";

/** Writes what the job of a worker needs, for this user only. Throws an Error. */
export function prepareWorker(spec: SlurmSpec, logDir: string): void {
	const { workerId, settings } = spec;
	const folder = folderOf(spec);
	const variables = variablesFile(spec);
	try {
		// An absent shared folder is a mistake, or not mounted: it is not created.
		mkdirSync(folder, { mode: 0o700, recursive: existsSync(settings.sharedDir) });
		for (const volume of volumesOf(settings))
			if (volume.named) mkdirSync(volume.folder, { mode: 0o700, recursive: true });
		closeSync(openLog(folder, workerId));
		linkLog({ folder, workerId, logDir });
		writeFileSync(variablesPath(folder, workerId), variables, { mode: 0o600, flag: "wx" });
	} catch (cause) {
		discardWorker(spec, logDir);
		throw new Error(
			`the folder ${settings.sharedDir} (launcher.sharedDir) cannot be written: ${(cause as Error).message}`,
			{ cause },
		);
	}
}

/** Links the log that the node writes, unless that was done. Throws an Error. */
export function linkLog(q: { folder: string; workerId: string; logDir: string }): void {
	const link = logPath(q.logDir, q.workerId);
	if (existsSync(link)) return;
	mkdirSync(q.logDir, { mode: 0o700, recursive: true });
	rmSync(link, { force: true });
	symlinkSync(logPath(q.folder, q.workerId), link);
}

/** Removes what {@link prepareWorker} wrote for a worker that was not started. */
export function discardWorker(spec: SlurmSpec, logDir: string): void {
	const { workerId } = spec;
	const folder = folderOf(spec);
	for (const path of [variablesPath(folder, workerId), logPath(logDir, workerId), logPath(folder, workerId)])
		rmSync(path, { force: true });
}

/** Removes the variables of an ended worker; returns whether it had not read them. */
export function removeVariables(folder: string, workerId: string): boolean {
	const path = variablesPath(folder, workerId);
	const unread = existsSync(path);
	rmSync(path, { force: true });
	return unread;
}

/** Removes old logs of ended workers, and variables that no worker will read. */
export async function pruneFolder(
	folder: string,
	{ running, logDir, now }: { running: readonly string[]; logDir: string; now: number },
): Promise<void> {
	await pruneLogs(folder, running, now);
	await pruneLogs(logDir, running, now);
	const needed = new Set(running.map((id) => variablesPath(folder, id)));
	const names = await readdir(folder).catch(() => []);
	for (const name of names.filter((each) => /^worker-.*\.env$/.test(each)))
		if (!needed.has(join(folder, name))) await rm(join(folder, name), { force: true });
}
