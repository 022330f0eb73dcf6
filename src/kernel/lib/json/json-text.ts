/**
 * JSON text inside the service (D5): large texts are blocks of UTF-8 bytes that are never joined, which would copy
 * megabytes.
 */

/** In order; may cut characters. No block shares its `ArrayBuffer` with other data. */
export type JsonBlocks = readonly Uint8Array[];

export type JsonText = string | JsonBlocks;

export type JsonPieces = string | readonly (string | Uint8Array)[];

export const LARGE_BYTES = 65_536;

export const BLOCK_BYTES = 262_144;

const encoder = new TextEncoder();

export function stringOf(text: JsonText): string {
	if (typeof text === "string") return text;
	const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	return text.map((block) => decoder.decode(block, { stream: true })).join("") + decoder.decode();
}

/** Characters of a string, or bytes of blocks. */
export function sizeOf(text: JsonText): number {
	return typeof text === "string" ? text.length : text.reduce((sum, block) => sum + block.length, 0);
}

export function piecesOf(...texts: readonly JsonText[]): JsonPieces {
	return texts.every((text) => typeof text === "string") ? texts.join("") : texts.flat();
}

export function asOne(pieces: JsonPieces): JsonText {
	return typeof pieces === "string"
		? pieces
		: pieces.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
}

/** Texts with several readers: calls of {@link release} until they are freed. */
const readers = new WeakMap<JsonBlocks, number>();

/** Makes {@link release} free the text at its call number `count` instead of the first. */
export function share(text: JsonText, count: number): void {
	if (typeof text === "string") return;
	if (count === 0) release(text);
	else readers.set(text, count);
}

/**
 * Frees a text's memory without waiting for garbage collection, which megabytes outside its heap would start many times
 * a second. This caller must not read it again.
 */
export function release(text: JsonText): void {
	if (typeof text === "string") return;
	const left = (readers.get(text) ?? 1) - 1;
	if (left > 0) return void readers.set(text, left);
	// A transfer to length 0 is the only way to free a buffer explicitly.
	for (const { buffer } of text) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

/** Views (not copies) of the bytes from `start` to `end` (excluded). */
export function cut<Block extends Uint8Array>(blocks: readonly Block[], start: number, end: number): Block[] {
	const within: Block[] = [];
	let at = 0;
	for (const block of blocks) {
		const [from, to] = [Math.max(start - at, 0), Math.min(end - at, block.length)];
		if (from < to) within.push((from === 0 && to === block.length ? block : block.subarray(from, to)) as Block);
		at += block.length;
	}
	return within;
}
