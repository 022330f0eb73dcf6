/**
 * The folder that service and nodes share, with each worker's file (`script.ts`) and output. Who can replace these
 * files runs commands as the service's user, so all folders are checked and no link is followed.
 */
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileCalls } from "../../kernel/system/file-calls.ts";
import { logPath, openLog, sharedGroup } from "../../kernel/launchers/logs/log-files.ts";
import { pruneLogs } from "../../kernel/launchers/logs/old-logs.ts";
import { folderOf, type SlurmSpec, variablesFile, variablesPath, volumesOf } from "./script.ts";

export interface WorkerFile {
	readonly folder: string;
	readonly id: string;
}

const STICKY = 0o1000;
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const NOT_PRIVATE = 0o077;

/**
 * Checks `sharedDir`, the folders down to `folder`, and `volumes`, which need not exist. Throws an Error if another
 * user can replace something in them.
 */
export async function checkFolder(
	sharedDir: string,
	folder = sharedDir,
	volumes: readonly string[] = [],
): Promise<void> {
	const root = resolve(sharedDir);
	const stats = await unlessAbsent(fileCalls.run(root, () => stat(root), root));
	const ownAt = (path: string) => unlessAbsent(fileCalls.run(path, () => lstat(path), root));
	// A later write reports that it is absent.
	if (!stats) return;
	const { mode, uid, gid } = stats;
	// The group with the number of a user is that user's own.
	const writers = gid === uid ? OTHERS_WRITE : OTHERS_WRITE | GROUP_WRITES;
	if (!isOwn(stats) && uid !== 0) throw refused(root, stats, "set launcher.sharedDir to a folder of your own");
	if ((mode & writers) !== 0 && (mode & STICKY) === 0)
		throw refused(root, stats, `run chmod go-w ${root}, or set launcher.sharedDir to a folder of mode 0700`);
	for (const path of below(root, folder)) {
		const own = await ownAt(path);
		if (own && !(own.isDirectory() && isOwn(own))) throw refused(path, own, TAKEN);
		if (own && (own.mode & NOT_PRIVATE) !== 0) throw refused(path, own, `run chmod 700 ${path}`);
	}
	for (const path of volumes.flatMap((volume) => below(root, volume))) {
		const own = await ownAt(path);
		if (own && !isOwn(own) && own.uid !== 0) throw refused(path, own, TAKEN);
		if (own?.isDirectory() && (own.mode & OTHERS_WRITE) !== 0) throw refused(path, own, `run chmod o-w ${path}`);
	}
}

const TAKEN = "remove it, or set launcher.sharedDir to a folder that only you can write (mode 0700)";

function below(root: string, path: string): string[] {
	return path.startsWith(`${root}/`) ? [...below(root, dirname(path)), path] : [];
}

function isOwn({ uid }: Stats): boolean {
	return uid === process.getuid?.();
}

function refused(path: string, stats: Stats, fix: string): Error {
	const kind = stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "file";
	const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
	return new Error(
		"another user can replace files of workers, and so run commands as this one: " +
			`the ${kind} ${path} belongs to user ${stats.uid} and has mode ${mode}; ${fix}`,
	);
}

/** Awaits a file operation; undefined if the file does not exist. */
async function unlessAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
	return await answer.catch((error: NodeJS.ErrnoException) => {
		if (error.code !== "ENOENT") throw error;
		return undefined;
	});
}

/** Writes the files of a job, readable by this user only. Throws an Error. */
export async function prepareWorker(spec: SlurmSpec, logDir: string): Promise<void> {
	const { workerId, settings } = spec;
	const { sharedDir } = settings;
	const folder = folderOf(spec);
	const variables = variablesFile(spec);
	const volumes = volumesOf(settings).flatMap((each) => (each.named ? [each.folder] : []));
	await checkFolder(sharedDir, folder, volumes);
	const group = sharedGroup(folder);
	const make = (path: string, recursive: boolean) =>
		fileCalls.run(path, () => mkdir(path, { mode: 0o700, recursive }), group);
	try {
		// An absent shared folder may be unmounted, so it is not created.
		const isThere = await unlessAbsent(fileCalls.run(sharedDir, () => stat(sharedDir), group));
		await make(folder, isThere !== undefined);
		for (const volume of volumes) await make(volume, true);
		// Another user may have created one meanwhile.
		await checkFolder(sharedDir, folder, volumes);
		const log = await openLog(folder, workerId, group);
		log.close().catch(() => {});
		await linkLog({ folder, workerId, logDir });
		const path = variablesPath(folder, workerId);
		await fileCalls.run(path, () => writeFile(path, variables, { mode: 0o600, flag: "wx" }), group);
	} catch (cause) {
		await discardWorker(spec, logDir);
		throw new Error(`the folder ${sharedDir} (launcher.sharedDir) cannot be written: ${(cause as Error).message}`, {
			cause,
		});
	}
}

/** Replaces a link to nothing, or to another folder. */
export async function linkLog(q: { folder: string; workerId: string; logDir: string }): Promise<void> {
	const { logDir } = q;
	const link = logPath(logDir, q.workerId);
	await fileCalls.run(logDir, () => mkdir(logDir, { mode: 0o700, recursive: true }));
	await fileCalls.run(link, () => rm(link, { force: true }));
	await fileCalls.run(link, () => symlink(logPath(q.folder, q.workerId), link));
}

/** Removes the files of a worker. Never rejects: files in a folder that hangs are removed later with old logs. */
export async function discardWorker(spec: SlurmSpec, logDir: string): Promise<void> {
	const { workerId } = spec;
	const folder = folderOf(spec);
	const group = sharedGroup(folder);
	const remove = (path: string, group?: string) =>
		fileCalls.run(path, () => rm(path, { force: true }), group).catch(() => {});
	await remove(variablesPath(folder, workerId), group);
	await remove(logPath(logDir, workerId));
	await remove(logPath(folder, workerId), group);
}

/** Whether the worker has read its variables and was not ended. */
export async function hasStarted({ folder, id }: WorkerFile): Promise<boolean> {
	return (await sizeOf(variablesPath(folder, id))) === 0;
}

/** Whether the worker has started, or its folder does not answer. */
export async function mayHaveStarted(file: WorkerFile): Promise<boolean> {
	return await hasStarted(file).catch(() => true);
}

/** Removes the file, which ends the worker if it runs. Returns whether the worker had not read it. */
export async function removeFile({ folder, id }: WorkerFile): Promise<boolean> {
	const path = variablesPath(folder, id);
	const isUnread = ((await sizeOf(path)) ?? 0) > 0;
	await fileCalls.run(path, () => rm(path, { force: true }), sharedGroup(folder));
	return isUnread;
}

/** Opens the file, because a network file system answers a `stat` from its cache. */
async function sizeOf(path: string): Promise<number | undefined> {
	const group = sharedGroup(dirname(path));
	const file = await unlessAbsent(fileCalls.open(path, constants.O_RDONLY | constants.O_NOFOLLOW, { group }));
	if (!file) return undefined;
	try {
		return (await fileCalls.run(path, () => file.stat(), group)).size;
	} finally {
		file.close().catch(() => {});
	}
}

/** Removes old logs of ended workers, and the files of those that are to end. */
export async function pruneFolder(
	folder: string,
	{ running, now }: { running: () => readonly string[]; now: number },
): Promise<void> {
	const group = sharedGroup(folder);
	await pruneLogs(folder, { running, now, group });
	const names = await fileCalls.run(folder, () => readdir(folder), group).catch(() => []);
	// Evaluated only now, so that a worker that has started in the meantime keeps its file.
	const needed = new Set(running().map((id) => variablesPath(folder, id)));
	for (const path of names.filter((name) => /^worker-.*\.env$/.test(name)).map((name) => join(folder, name)))
		if (!needed.has(path)) await fileCalls.run(path, () => rm(path, { force: true }), group);
}
