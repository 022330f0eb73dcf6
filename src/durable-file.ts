/**
 * Small files and folders that survive a power loss. A new file gets its content under a temporary
 * name in the same folder, is flushed, and only then gets its name; then the folder is flushed,
 * which holds the name. So a reader, also one after a power loss, finds a whole file or none.
 */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** The file operations used here, so that tests can record their order and make them fail. */
export type FileOperations = Pick<
	typeof fs,
	| "openSync"
	| "writeFileSync"
	| "fsyncSync"
	| "closeSync"
	| "linkSync"
	| "renameSync"
	| "rmSync"
	| "mkdirSync"
>;

/** Readable and writable by the owner only. */
export const OWNER_FILE = 0o600;
const OWNER_FOLDER = 0o700;

/** What a file system without hard links answers. */
const NO_LINKS: ReadonlySet<string> = new Set([
	"EPERM",
	"ENOTSUP",
	"EOPNOTSUPP",
	"ENOSYS",
	"EMLINK",
]);

/**
 * What opening or flushing answers where there is nothing to flush: a read-only mount, or a system
 * that cannot open folders. Not EIO or ENOSPC: these say that the data may be lost.
 */
const NO_FLUSH: ReadonlySet<string> = new Set([
	"EINVAL",
	"EROFS",
	"ENOTSUP",
	"EOPNOTSUPP",
	"EISDIR",
	"EPERM",
	"EACCES",
]);

/**
 * Creates a file with mode 0600 that is durable when this returns. False, with nothing changed,
 * when a file of that name exists: of several processes exactly one creates it.
 */
export function createFile(path: string, text: string, ops: FileOperations = fs): boolean {
	return place(path, text, ops, (temporary) => {
		try {
			ops.linkSync(temporary, path);
			return true;
		} catch (error) {
			if (codeOf(error) === "EEXIST") return false;
			if (!NO_LINKS.has(codeOf(error))) throw error;
		}
		// Without hard links a placeholder reserves the name; it is empty only until the rename.
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

/**
 * Replaces a file, or creates it with mode 0600; durable when this returns. After a power loss
 * before that, the file has its old content or the new one.
 */
export function replaceFile(path: string, text: string, ops: FileOperations = fs): void {
	place(path, text, ops, (temporary) => {
		ops.renameSync(temporary, path);
		return true;
	});
}

/**
 * Makes a file durable that something else may have written: its content, and its name in the
 * folder.
 */
export function flushFile(path: string, ops: FileOperations = fs): void {
	flush(path, ops);
	flush(dirname(path), ops);
}

/**
 * Makes a folder with mode 0700 and those above it, where they do not exist; durable when this
 * returns. An existing folder keeps its mode.
 */
export function makeFolder(path: string, ops: FileOperations = fs): void {
	const first = ops.mkdirSync(path, { recursive: true, mode: OWNER_FOLDER });
	if (first === undefined) return;
	for (let made = resolve(path); ; made = dirname(made)) {
		flush(dirname(made), ops);
		if (made === resolve(first) || made === dirname(made)) return;
	}
}

/**
 * Writes and flushes the temporary file, then lets `name` give it its name. Leaves no temporary
 * file.
 */
function place(
	path: string,
	text: string,
	ops: FileOperations,
	name: (temporary: string) => boolean,
): boolean {
	const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
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
