/**
 * Reads a file of pieces of equal size by two buffers: while the caller has one piece, the next one is read into the
 * other. The invariants are in the [README](../README.md#buffers).
 */
import type { ByteRange } from "../../../kernel/engine/stored-files.ts";

/** Fills `into` with a piece, the last of which may be smaller than the others. */
export type ReadPiece = (number: number, into: Buffer) => Promise<void>;

/**
 * Reads the first piece of a range of a file of `bytes`. Returns what yields the range, to be called once. Throws as
 * `read` does.
 */
export async function openAhead(
	{ start, end, bytes, size }: ByteRange & { bytes: number; size: number },
	read: ReadPiece,
): Promise<() => AsyncGenerator<Uint8Array, void>> {
	const first = Math.floor(start / size);
	/** The number of the piece behind the range. */
	const after = Math.ceil(end / size);
	const buffers: Buffer[] = [];

	async function next(number: number): Promise<Buffer> {
		const from = number * size;
		const buffer = (buffers[number % 2] ??= Buffer.alloc(Math.min(size, bytes)));
		await read(number, buffer.subarray(0, bytes - from));
		return buffer.subarray(Math.max(0, start - from), Math.min(size, end - from));
	}

	let ahead = start < end ? next(first) : undefined;
	await ahead;
	return async function* pieces() {
		for (let number = first; ahead; number += 1) {
			const piece = await ahead;
			// (2) The caller has asked for this piece, so it has given back the one before, whose buffer is read into now.
			ahead = number + 1 < after ? next(number + 1) : undefined;
			// Its error is for a caller who goes on.
			ahead?.catch(() => {});
			yield piece;
		}
	};
}
