/**
 * Blocks of large texts in the database thread (T6): their memory is transferred or freed at once,
 * without waiting for garbage collection.
 */
import { release } from "../../../core/json/json-text.ts";

export type BufferTransfer = ReturnType<typeof openBufferTransfer>;

export function openBufferTransfer() {
	let out = new Set<ArrayBuffer>();
	let done: Uint8Array[] = [];

	return {
		/** A block of an answer: nothing in this thread may keep it. */
		read({ buffer }: Uint8Array): void {
			out.add(buffer as ArrayBuffer);
		},

		/** A written block of a query; kept until the reply for operations that run again (T5). */
		written(block: Uint8Array): void {
			done.push(block);
		},

		/** Buffers read since the last call, to be transferred. */
		takeOut(): ArrayBuffer[] {
			if (out.size === 0) return [];
			const taken = [...out];
			out = new Set();
			return taken;
		},

		/** Frees the written blocks, after the reply. */
		free(): void {
			if (done.length === 0) return;
			release(done);
			done = [];
		},
	};
}
