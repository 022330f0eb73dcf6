const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/**
 * Cuts the bytes between a valid JSON string's quotes into the fewest parts of at most `room` bytes and yields their
 * offsets. Never cuts inside an escape, a surrogate pair or a UTF-8 character (D7). False if `room` is too small for
 * the next character.
 */
export function* cutString(
	source: Uint8Array,
	start: number,
	end: number,
	room: number,
): Generator<[start: number, end: number], boolean> {
	let from = start;
	while (from < end) {
		const most = Math.min(end, from + room);
		let at = from;
		while (at < most) {
			const byte = source[at]!;
			if (byte < 0x80 && byte !== BACKSLASH) {
				at++;
				continue;
			}
			const next = at + unitLength(source, at, end);
			if (next > most) break;
			at = next;
		}
		if (at <= from) return false;
		yield [from, at];
		from = at;
	}
	return true;
}

function unitLength(source: Uint8Array, at: number, end: number): number {
	const byte = source[at]!;
	if (byte !== BACKSLASH) return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
	if (source[at + 1] !== LETTER_U) return 2;
	const pair =
		isSurrogate(source, at, "89ab") &&
		at + 12 <= end &&
		source[at + 6] === BACKSLASH &&
		source[at + 7] === LETTER_U &&
		isSurrogate(source, at + 6, "cdef");
	return pair ? 12 : 6;
}

/** Whether the `\u` escape at `at` is D8.. to DB.. (digits "89ab") or DC.. to DF.. ("cdef"). */
function isSurrogate(source: Uint8Array, at: number, digits: string): boolean {
	return (source[at + 2]! | 0x20) === 0x64 && digits.includes(String.fromCharCode(source[at + 3]! | 0x20));
}
