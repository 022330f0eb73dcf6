import { BLOCK_BYTES, type JsonText, LARGE_BYTES } from "../../../lib/json/json-text.ts";

const encoder = new TextEncoder();

/** Returns a text as a string below {@link LARGE_BYTES}, else as blocks that share no memory (D5). */
export function jsonTextOf(text: string): JsonText {
	// At most three bytes per UTF-16 unit: most texts need no count.
	const bytes = text.length * 3 < LARGE_BYTES ? 0 : Buffer.byteLength(text);
	if (bytes < LARGE_BYTES) return text;
	const blocks: Uint8Array[] = [];
	for (let read = 0, left = bytes; left > 0; ) {
		const block = new Uint8Array(Math.min(left, BLOCK_BYTES));
		const done = encoder.encodeInto(text.slice(read), block);
		blocks.push(block.subarray(0, done.written));
		read += done.read;
		left -= done.written;
	}
	return blocks;
}
