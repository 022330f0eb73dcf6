/** The files in the executable and the folder that they are unpacked to, once for each archive. */
import {
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readlinkSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";

/** Names of the assets in the executable. */
export const INDEX = "index.json";
export const ARCHIVE = "files.br";

/** What the archive holds. Its bytes, decompressed, are those of the files in this order. */
export interface Index {
	/** SHA-256 of the archive, hexadecimal: the folder's name begins with it. */
	hash: string;
	files: readonly { path: string; bytes: number }[];
}

/** The only entry of `node/` below the folder: a link to the executable, which acts as Node under this name. */
export function nodeLink(folder: string): string {
	return join(folder, "node", "node");
}

/** `cache`: the user's folder for caches. */
export function folderOf(cache: string, { hash }: Index): string {
	return join(cache, "sluice", `files-${hash.slice(0, 16)}`);
}

/**
 * Unpacks the archive into `folder` unless its files are there with their sizes. A folder of another user is
 * refused. Two processes may do this at once. Throws Node's errors of the file system.
 */
export function unpack(folder: string, index: Index, archive: () => Uint8Array): void {
	if (isComplete(folder, index)) return;
	const parent = dirname(folder);
	mkdirSync(parent, { recursive: true, mode: 0o700 });
	const fresh = mkdtempSync(join(parent, "unpacking-"));
	try {
		writeAll(fresh, index, brotliDecompressSync(archive()));
		put(fresh, folder, index);
	} finally {
		rmSync(fresh, { recursive: true, force: true });
	}
}

/** Throws if the folder belongs to another user, or if others can write to it. */
function isComplete(folder: string, { files }: Index): boolean {
	const own = lstatSync(folder, { throwIfNoEntry: false });
	if (own === undefined) return false;
	if (own.uid !== process.getuid?.() || (own.mode & 0o022) !== 0)
		throw new Error(`${folder} belongs to another user, or others can write to it: remove it.`);
	return files.every(({ path, bytes }) => lstatSync(join(folder, path), { throwIfNoEntry: false })?.size === bytes);
}

function writeAll(folder: string, { files }: Index, contents: Uint8Array): void {
	for (const parent of new Set(files.map(({ path }) => dirname(path))))
		mkdirSync(join(folder, parent), { recursive: true });
	let offset = 0;
	for (const { path, bytes } of files) {
		writeFileSync(join(folder, path), contents.subarray(offset, offset + bytes));
		offset += bytes;
	}
}

/** Moves the complete folder to its place; a damaged one there is removed. */
function put(fresh: string, folder: string, index: Index): void {
	for (let isLast = false; ; isLast = true)
		try {
			renameSync(fresh, folder);
			return;
		} catch (error) {
			// Another process was faster, or the folder there is the damaged one.
			if (isComplete(folder, index)) return;
			if (isLast) throw error;
			const damaged = mkdtempSync(join(dirname(folder), "unpacking-"));
			renameSync(folder, damaged);
			rmSync(damaged, { recursive: true, force: true });
		}
}

/** Points the link at the executable, which may have been moved since. */
export function linkNode(folder: string, executable: string): void {
	const link = nodeLink(folder);
	if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(link) === executable) return;
	mkdirSync(dirname(link), { recursive: true, mode: 0o700 });
	const fresh = `${link}-${process.pid}`;
	rmSync(fresh, { force: true });
	symlinkSync(executable, fresh);
	renameSync(fresh, link);
}
