/** Matches member names in raw JSON text, even with escapes or cut into pieces. */

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const NO_BYTES = new Uint8Array(0);

/** Offsets: first byte after the opening quote, and the closing quote. */
export interface NameMatcher {
	/** Keeps the bytes of a name that continues in the next piece, unless it is too long. */
	keep(bytes: Uint8Array, start: number, end: number): void;
	/** Ends a syntactically valid name. Returns the matching name, or undefined. */
	match(bytes: Uint8Array, start: number, end: number): string | undefined;
}

/** Keeps at most six bytes (an escape) per UTF-16 unit of the longest name. */
export function nameMatcher(names: readonly string[]): NameMatcher {
	let longest = 0;
	for (const name of names) longest = Math.max(longest, name.length * 6);
	let kept = NO_BYTES;
	let keptLength = 0;

	const keep = (bytes: Uint8Array, start: number, end: number) => {
		if (kept.length < longest) kept = new Uint8Array(longest);
		const length = keptLength + end - start;
		if (length <= longest) kept.set(bytes.subarray(start, end), keptLength);
		keptLength = length;
	};

	const match = (bytes: Uint8Array, start: number, end: number): string | undefined => {
		if (keptLength > 0) {
			keep(bytes, start, end);
			const length = keptLength;
			keptLength = 0;
			return length > longest ? undefined : find(names, kept, 0, length);
		}
		return end - start > longest ? undefined : find(names, bytes, start, end);
	};

	return { keep, match };
}

function find(names: readonly string[], bytes: Uint8Array, start: number, end: number): string | undefined {
	for (let at = start; at < end; at++) {
		if (bytes[at] === 0x5c || bytes[at]! >= 0x80) {
			const name: unknown = JSON.parse(`"${utf8.decode(bytes.subarray(start, end))}"`);
			return names.find((wanted) => wanted === name);
		}
	}
	for (const name of names) {
		if (name.length !== end - start) continue;
		let same = 0;
		while (same < name.length && bytes[start + same] === name.charCodeAt(same)) same++;
		if (same === name.length) return name;
	}
	return undefined;
}
