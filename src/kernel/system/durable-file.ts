/**
 * Files and folders that survive a power loss: a file is flushed under a temporary name and renamed, then its folder is
 * flushed.
 */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

export type FileOperations = Pick<
	typeof fs,
	"openSync" | "writeFileSync" | "fsyncSync" | "closeSync" | "linkSync" | "renameSync" | "rmSync" | "mkdirSync"
>;

export const OWNER_FILE = 0o600;
const OWNER_FOLDER = 0o700;

/** File systems without hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Nothing can be flushed, such as on read-only mounts. Not EIO and ENOSPC: data may be lost. */
const NO_FLUSH: ReadonlySet<string> = new Set([
	"EINVAL",
	"EROFS",
	"ENOTSUP",
	"EOPNOTSUPP",
	"EISDIR",
	"EPERM",
	"EACCES",
]);

/** Mode 0600; false if the file exists. Exactly one of several processes creates it. */
export function createFile(path: string, text: string, ops: FileOperations = fs): boolean {
	return writeDurably(path, text, ops, (temporary) => {
		try {
			ops.linkSync(temporary, path);
			return true;
		} catch (error) {
			if (codeOf(error) === "EEXIST") return false;
			if (!NO_LINKS.has(codeOf(error))) throw error;
		}
		// Without hard links an empty placeholder reserves the name until the rename.
		try {
			ops.closeSync(ops.openSync(path, "wx", OWNER_FILE));
		} catch (error) {
			if (codeOf(error) === "EEXIST") return false;
			throw error;
		}
		ops.renameSync(temporary, path);
		return true;
	});
}

/** Replaces or creates (mode 0600); a power loss leaves the old or new content. */
export function replaceFile(path: string, text: string, ops: FileOperations = fs): void {
	writeDurably(path, text, ops, (temporary) => {
		ops.renameSync(temporary, path);
		return true;
	});
}

/** Replaces or creates (mode 0600) a file of any size: complete, or not at all if `write` rejects. */
export async function replaceFileBy(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
	const temporary = temporaryFor(path);
	try {
		const file = await open(temporary, "wx", OWNER_FILE);
		try {
			await write(file);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(temporary, path);
	} finally {
		await rm(temporary, { force: true });
	}
	flush(dirname(path), fs);
}

export function flushFile(path: string, ops: FileOperations = fs): void {
	flush(path, ops);
	flush(dirname(path), ops);
}

/**
 * Creates a durable folder (mode 0700) with parents; an existing one keeps its mode. Node's `recursive` never ends
 * where the system answers ENOENT for a folder whose parent exists, as in /proc.
 */
export function makeFolder(path: string, ops: FileOperations = fs): void {
	const missing: string[] = [];
	let folder = resolve(path);
	for (; !fs.statSync(folder, { throwIfNoEntry: false }); folder = dirname(folder)) missing.push(folder);
	requireKind(folder, "folder");
	for (const made of missing.toReversed()) {
		try {
			ops.mkdirSync(made, OWNER_FOLDER);
		} catch (error) {
			if (codeOf(error) !== "EEXIST") throw error;
			// Another process has just made it.
			requireKind(made, "folder");
		}
		flush(dirname(made), ops);
	}
}

const KINDS = [
	["folder", "isDirectory"],
	["file", "isFile"],
	["FIFO", "isFIFO"],
	["socket", "isSocket"],
	["device", "isCharacterDevice"],
	["device", "isBlockDevice"],
] as const;

/** Undefined also where this user has no permission: opening reports it. */
function statOf(path: string, stat: typeof fs.statSync = fs.statSync): fs.Stats | undefined {
	try {
		return stat(path, { throwIfNoEntry: false });
	} catch {
		return undefined;
	}
}

/**
 * Throws an Error for the operator when something else has the path, such as a FIFO, which would block the open.
 * Accepts a missing file or folder, and for a file a link to nothing.
 */
export function requireKind(path: string, wanted: "file" | "folder"): void {
	const found = statOf(path) ?? (wanted === "folder" ? statOf(path, fs.lstatSync) : undefined);
	if (!found) return;
	const [kind] = KINDS.find(([, is]) => found[is]()) ?? ["symbolic link to nothing"];
	if (kind !== wanted)
		throw new Error(`${path} is a ${kind}; a ${wanted} is needed there. Rename or remove it, or choose another path.`);
}

/**
 * What other users may do in an existing folder. `write`: replace files in it, unlike in /tmp, where each may remove
 * only its own.
 */
export function openToOthers(path: string): "read" | "write" | undefined {
	const found = fs.statSync(path, { throwIfNoEntry: false });
	if (!found || process.platform === "win32") return undefined;
	if ((found.mode & 0o022) !== 0 && (found.mode & 0o1000) === 0) return "write";
	return (found.mode & 0o055) !== 0 ? "read" : undefined;
}

function writeDurably(path: string, text: string, ops: FileOperations, name: (temporary: string) => boolean): boolean {
	const temporary = temporaryFor(path);
	let named: boolean;
	try {
		const file = ops.openSync(temporary, "wx", OWNER_FILE);
		try {
			ops.writeFileSync(file, text);
			ops.fsyncSync(file);
		} finally {
			ops.closeSync(file);
		}
		named = name(temporary);
	} finally {
		ops.rmSync(temporary, { force: true });
	}
	if (named) flush(dirname(path), ops);
	return named;
}

function temporaryFor(path: string): string {
	return join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
}

function flush(path: string, ops: FileOperations): void {
	try {
		const file = ops.openSync(path, "r");
		try {
			ops.fsyncSync(file);
		} finally {
			ops.closeSync(file);
		}
	} catch (error) {
		if (!NO_FLUSH.has(codeOf(error))) throw error;
	}
}

function codeOf(error: unknown): string {
	return (error as NodeJS.ErrnoException).code ?? "";
}
