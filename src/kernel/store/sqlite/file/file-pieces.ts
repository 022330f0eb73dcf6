/** Reads a file in pieces, which the caller may keep. */
import type { FileHandle } from "node:fs/promises";

/** To hash and send this much takes a fraction of a millisecond. */
const PIECE_BYTES = 64 * 1024;

export async function* piecesOf(file: FileHandle, bytes: number): AsyncGenerator<Uint8Array> {
	for (let at = 0; at < bytes; ) {
		const piece = new Uint8Array(Math.min(PIECE_BYTES, bytes - at));
		const { bytesRead } = await file.read(piece, 0, piece.length, at);
		if (bytesRead === 0) throw new Error(`The file ends after ${at} of ${bytes} bytes.`);
		at += bytesRead;
		yield piece.subarray(0, bytesRead);
	}
}
