/**
 * The folder that service and nodes share, with each worker's file (`script.ts`) and output. Who can replace these
 * files runs commands as the service's user, so all folders are checked and no link is followed.
 */
import {
	closeSync,
	constants,
	existsSync,
	fstatSync,
	lstatSync,
	mkdirSync,
	openSync,
	rmSync,
	type Stats,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { logPath, openLog, pruneLogs } from "../logs/log-files.ts";
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
export function checkFolder(sharedDir: string, folder = sharedDir, volumes: readonly string[] = []): void {
	const root = resolve(sharedDir);
	const stats = statSync(root, { throwIfNoEntry: false });
	// A later write reports that it is absent.
	if (!stats) return;
	const { mode, uid, gid } = stats;
	// The group with the number of a user is that user's own.
	const writers = gid === uid ? OTHERS_WRITE : OTHERS_WRITE | GROUP_WRITES;
	if (!isOwn(stats) && uid !== 0) throw refused(root, stats, "set launcher.sharedDir to a folder of your own");
	if ((mode & writers) !== 0 && (mode & STICKY) === 0)
		throw refused(root, stats, `run chmod go-w ${root}, or set launcher.sharedDir to a folder of mode 0700`);
	for (const path of below(root, folder)) {
		const own = lstatSync(path, { throwIfNoEntry: false });
		if (own && !(own.isDirectory() && isOwn(own))) throw refused(path, own, TAKEN);
		if (own && (own.mode & NOT_PRIVATE) !== 0) throw refused(path, own, `run chmod 700 ${path}`);
	}
	for (const path of volumes.flatMap((volume) => below(root, volume))) {
		const own = lstatSync(path, { throwIfNoEntry: false });
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

/** Writes the files of a job, for this user only. Throws an Error. */
export function prepareWorker(spec: SlurmSpec, logDir: string): void {
	const { workerId, settings } = spec;
	const { sharedDir } = settings;
	const folder = folderOf(spec);
	const variables = variablesFile(spec);
	const volumes = volumesOf(settings).flatMap((each) => (each.named ? [each.folder] : []));
	checkFolder(sharedDir, folder, volumes);
	try {
		// An absent shared folder may be unmounted, so it is not created.
		mkdirSync(folder, { mode: 0o700, recursive: existsSync(sharedDir) });
		for (const volume of volumes) mkdirSync(volume, { mode: 0o700, recursive: true });
		// Another user may have created one meanwhile.
		checkFolder(sharedDir, folder, volumes);
		closeSync(openLog(folder, workerId));
		linkLog({ folder, workerId, logDir });
		writeFileSync(variablesPath(folder, workerId), variables, { mode: 0o600, flag: "wx" });
	} catch (cause) {
		discardWorker(spec, logDir);
		throw new Error(`the folder ${sharedDir} (launcher.sharedDir) cannot be written: ${(cause as Error).message}`, {
			cause,
		});
	}
}

export function linkLog(q: { folder: string; workerId: string; logDir: string }): void {
	const link = logPath(q.logDir, q.workerId);
	if (existsSync(link)) return;
	mkdirSync(q.logDir, { mode: 0o700, recursive: true });
	rmSync(link, { force: true });
	symlinkSync(logPath(q.folder, q.workerId), link);
}

export function discardWorker(spec: SlurmSpec, logDir: string): void {
	const { workerId } = spec;
	const folder = folderOf(spec);
	for (const path of [variablesPath(folder, workerId), logPath(logDir, workerId), logPath(folder, workerId)])
		rmSync(path, { force: true });
}

/** Whether the worker has read its variables and was not ended. */
export function hasStarted({ folder, id }: WorkerFile): boolean {
	return sizeOf(variablesPath(folder, id)) === 0;
}

/** Ends the worker if it runs. Returns whether it had not read the file. */
export function removeFile({ folder, id }: WorkerFile): boolean {
	const path = variablesPath(folder, id);
	const unread = (sizeOf(path) ?? 0) > 0;
	rmSync(path, { force: true });
	return unread;
}

/** Opens the file, because a network file system answers a `stat` from its cache. */
function sizeOf(path: string): number | undefined {
	try {
		const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
		try {
			return fstatSync(file).size;
		} finally {
			closeSync(file);
		}
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

/** Removes old logs of ended workers, and the files of those that are to end. */
export async function pruneFolder(
	folder: string,
	{ running, now }: { running: readonly string[]; now: number },
): Promise<void> {
	await pruneLogs(folder, running, now);
	const needed = new Set(running.map((id) => variablesPath(folder, id)));
	const names = await readdir(folder).catch(() => []);
	for (const name of names.filter((each) => /^worker-.*\.env$/.test(each)))
		if (!needed.has(join(folder, name))) await rm(join(folder, name), { force: true });
}
