/** Bodies of unknown size: in memory up to 1 MB, then in a temporary file. */
import { randomUUID } from "node:crypto";
import { open, unlink, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JobReturn } from "../../job-return.ts";

const IN_MEMORY = 1_048_576;
/** A multiple of 3, so that the base64 of pieces joins. */
const PIECE = 196_608;

/** Thrown for a body over its bound. */
export class TooLargeError extends Error {}

export interface Spool {
	readonly bytes: number;
	/** Pieces of {@link PIECE} bytes; the last one may be shorter. */
	pieces(): AsyncIterable<Buffer>;
	/** All of it. */
	buffer(): Promise<Buffer>;
	/** Frees memory and file. */
	release(): Promise<void>;
}

/**
 * Throws {@link TooLargeError} over `maxBytes`, {@link JobReturn} with a loss if the disk does not take the body, and
 * what `source` throws.
 */
export async function spool(
	source: AsyncIterable<Buffer>,
	{ maxBytes, folder = tmpdir() }: { maxBytes: number; folder?: string | undefined },
): Promise<Spool> {
	let memory: Buffer[] = [];
	let file: FileHandle | undefined;
	let bytes = 0;
	try {
		for await (const piece of source) {
			bytes += piece.length;
			if (bytes > maxBytes) throw new TooLargeError(`larger than ${maxBytes} bytes`);
			memory.push(piece);
			if (bytes <= IN_MEMORY) continue;
			try {
				file ??= await openUnnamed(folder);
				await writeAll(file, memory);
			} catch (error) {
				// Another worker may have room. The body may also be too large for all: the loss is counted.
				const { message } = error as Error;
				throw new JobReturn(`A temporary file in ${folder} could not be written: ${message}`, { loss: true });
			}
			memory = [];
		}
	} catch (error) {
		await file?.close();
		throw error;
	}
	const whole = file ? undefined : Buffer.concat(memory);
	memory = [];
	return {
		bytes,
		async *pieces() {
			for (let at = 0; at < bytes; at += PIECE)
				yield whole ? whole.subarray(at, at + PIECE) : await readAt(file!, at, Math.min(PIECE, bytes - at));
		},
		buffer: async () => whole ?? (await readAt(file!, 0, bytes)),
		release: async () => await file?.close(),
	};
}

/** The file has no name after its creation, so that it vanishes with this process whatever ends it. */
async function openUnnamed(folder: string): Promise<FileHandle> {
	const path = join(folder, `sluice-http-${randomUUID()}`);
	const file = await open(path, "wx+", 0o600);
	await unlink(path);
	return file;
}

async function writeAll(file: FileHandle, pieces: readonly Buffer[]): Promise<void> {
	for (const piece of pieces) for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
}

async function readAt(file: FileHandle, start: number, length: number): Promise<Buffer> {
	const target = Buffer.allocUnsafe(length);
	for (let at = 0; at < length; ) {
		const { bytesRead } = await file.read(target, at, length - at, start + at);
		if (bytesRead === 0) throw new Error("The temporary file of a body ended early.");
		at += bytesRead;
	}
	return target;
}
