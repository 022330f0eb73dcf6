/**
 * JSON text on its way through the service (D5). What is small travels as a string; what is large
 * stays the UTF-8 bytes it came as, in blocks that are never joined: no step holds megabytes twice,
 * and none takes long.
 */

/**
 * UTF-8 bytes in their order; a character may lie across the edge of two blocks. No block shares
 * its `ArrayBuffer` with what is used elsewhere.
 */
export type JsonBlocks = readonly Uint8Array[];

/** A text: a string, or the blocks of a large one. */
export type JsonText = string | JsonBlocks;

/** A text as it is written: one string, or strings and blocks in their order. */
export type JsonPieces = string | readonly (string | Uint8Array)[];

/** From so many bytes on a text stays bytes. */
export const LARGE_BYTES = 65_536;

/** Most bytes of a block. */
export const BLOCK_BYTES = 262_144;

const encoder = new TextEncoder();

/** The text as a string, for those who must read it. */
export function stringOf(text: JsonText): string {
	if (typeof text === "string") return text;
	const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	return text.map((block) => decoder.decode(block, { stream: true })).join("") + decoder.decode();
}

/** Characters of a string, bytes of blocks. */
export function sizeOf(text: JsonText): number {
	return typeof text === "string"
		? text.length
		: text.reduce((sum, block) => sum + block.length, 0);
}

/** Texts one after the other: one string when all of them are strings. */
export function piecesOf(...texts: readonly JsonText[]): JsonPieces {
	return texts.every((text) => typeof text === "string") ? texts.join("") : texts.flat();
}

/** The pieces as one text. */
export function asOne(pieces: JsonPieces): JsonText {
	return typeof pieces === "string"
		? pieces
		: pieces.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
}

/**
 * Gives the memory of a text back at once that nobody reads any more, not when garbage is
 * collected.
 */
export function release(text: JsonText): void {
	// A transfer to nothing is the one way to free a buffer by hand.
	if (typeof text !== "string")
		for (const { buffer } of text)
			if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

/** The bytes from `start` to before `end`, of blocks that have them: views, nothing is copied. */
export function cut<Block extends Uint8Array>(
	blocks: readonly Block[],
	start: number,
	end: number,
): Block[] {
	const within: Block[] = [];
	let at = 0;
	for (const block of blocks) {
		const [from, to] = [Math.max(start - at, 0), Math.min(end - at, block.length)];
		if (from < to)
			within.push((from === 0 && to === block.length ? block : block.subarray(from, to)) as Block);
		at += block.length;
	}
	return within;
}
