/**
 * Blocks of large texts on their way through the database thread: their memory is given on or given
 * back at once, not when garbage is collected.
 */
import { release } from "../../../core/json/json-text.ts";

export type BufferTransfer = ReturnType<typeof openBufferTransfer>;

export function openBufferTransfer() {
	let out = new Set<ArrayBuffer>();
	let done: Uint8Array[] = [];

	return {
		/** A block that goes into an answer: nothing here keeps it. */
		read({ buffer }: Uint8Array): void {
			out.add(buffer as ArrayBuffer);
		},

		/** A block of a query, in the file now or about to be; a batch that fails uses it again. */
		written(block: Uint8Array): void {
			done.push(block);
		},

		/** What was read since the last call, to leave this thread without a copy. */
		takeOut(): ArrayBuffer[] {
			if (out.size === 0) return [];
			const taken = [...out];
			out = new Set();
			return taken;
		},

		/** Frees what was written; the end of a batch. */
		free(): void {
			if (done.length === 0) return;
			release(done);
			done = [];
		},
	};
}
