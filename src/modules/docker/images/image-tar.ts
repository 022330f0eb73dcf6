/** Writes the files of an image as a tar, from the disk as it is read. */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { createTarPacker, type TarPackController } from "modern-tar";
import { fileCalls } from "../../../kernel/system/file-calls.ts";

/** `path`: absolute, in the image. `from`: bytes, or a file of this machine. */
export interface ImageFile {
	path: string;
	mode: number;
	from: Uint8Array | { file: string };
}

/** The same files make the same image. */
const MTIME = new Date(0);
/** Bytes of a file in memory at once. */
const PIECE_BYTES = 256 * 1024;

/** Reads no file before the tar is read. `sent`: called with the part that was read, 0 to 1. */
export function tarOf(files: readonly ImageFile[], sent: (part: number) => void): Readable {
	const { readable, controller } = createTarPacker();
	pack(files, controller, sent).catch((cause: Error) =>
		controller.error(new Error(`its files cannot be read: ${cause.message}`, { cause })),
	);
	return Readable.fromWeb(readable as Parameters<typeof Readable.fromWeb>[0]);
}

async function pack(
	files: readonly ImageFile[],
	controller: TarPackController,
	sent: (part: number) => void,
): Promise<void> {
	const sizes = await Promise.all(files.map(sizeOf));
	const whole = sizes.reduce((sum, size) => sum + size, 0);
	let done = 0;
	// Without entries of their own, folders have modes that depend on the daemon.
	for (const path of foldersOf(files)) {
		const mode = path === "/tmp" ? 0o1777 : 0o755;
		await controller.add({ name: `${path.slice(1)}/`, type: "directory", size: 0, mode, mtime: MTIME }).close();
	}
	for (const [index, { path, mode, from }] of files.entries()) {
		const writer = controller.add({ name: path.slice(1), size: sizes[index]!, mode, mtime: MTIME }).getWriter();
		for await (const piece of from instanceof Uint8Array ? [from] : piecesOf(from.file)) {
			await writer.write(piece);
			sent((done += piece.length) / whole);
		}
		await writer.close();
	}
	controller.finalize();
}

async function sizeOf({ from }: ImageFile): Promise<number> {
	if (from instanceof Uint8Array) return from.length;
	return (await fileCalls.run(from.file, () => stat(from.file))).size;
}

async function* piecesOf(file: string): AsyncGenerator<Uint8Array> {
	const handle = await fileCalls.open(file, "r");
	try {
		for (;;) {
			const { bytesRead, buffer } = await fileCalls.run(file, () => handle.read(Buffer.allocUnsafe(PIECE_BYTES)));
			if (bytesRead === 0) return;
			yield buffer.subarray(0, bytesRead);
		}
	} finally {
		handle.close().catch(() => {});
	}
}

/** All folders above the files, and `/tmp`, each after the one that it is in. */
function foldersOf(files: readonly ImageFile[]): string[] {
	const folders = new Set(["/tmp"]);
	for (const { path } of files)
		for (let folder = dirname(path); folder !== "/"; folder = dirname(folder)) folders.add(folder);
	return [...folders].toSorted();
}
