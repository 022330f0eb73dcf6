/**
 * Large JSON texts as they come from the database: what is large goes on in blocks, as it does
 * everywhere (D5).
 */
import { BLOCK_BYTES, LARGE_BYTES } from "../../../core/json/json-text.ts";
import type { JsonText } from "../../../core/json/json-text.ts";

const encoder = new TextEncoder();

/**
 * The text of a column: a string below {@link LARGE_BYTES}, blocks that share no memory from there
 * on. Whatever form it was stored in: the database keeps no blocks.
 */
export function jsonTextOf(text: string): JsonText {
	// No character takes more than three bytes a unit: most texts need not be counted.
	const bytes = text.length * 3 < LARGE_BYTES ? 0 : Buffer.byteLength(text);
	if (bytes < LARGE_BYTES) return text;
	const blocks: Uint8Array[] = [];
	for (let read = 0, left = bytes; left > 0; ) {
		const block = new Uint8Array(Math.min(left, BLOCK_BYTES));
		// A character that does not fit whole begins the next block.
		const done = encoder.encodeInto(text.slice(read), block);
		blocks.push(block.subarray(0, done.written));
		read += done.read;
		left -= done.written;
	}
	return blocks;
}
