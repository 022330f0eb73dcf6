/** Matches member names in raw JSON text, even with escapes or cut into pieces. */

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const NO_BYTES = new Uint8Array(0);

/** Keeps at most this many names that match none, of at most so many characters. */
const MAX_OTHERS = 8;
const MAX_OTHER_LENGTH = 40;

/** Offsets are those of the first byte after the opening quote, and of the closing quote. */
export class NameMatcher {
	readonly #names: readonly string[];
	/** Six bytes (an escape) per UTF-16 unit of the longest name. */
	readonly #longest: number;
	#kept = NO_BYTES;
	#keptLength = 0;

	/** Names that matched none, where they are wanted. Other characters than printable ASCII are "?". */
	readonly others: string[] | undefined;

	constructor(names: readonly string[], others = false) {
		this.#names = names;
		this.others = others ? [] : undefined;
		const longest = 6 * Math.max(0, ...names.map(({ length }) => length));
		this.#longest = others ? Math.max(longest, MAX_OTHER_LENGTH) : longest;
	}

	keep(bytes: Uint8Array, start: number, end: number): void {
		if (this.#kept.length < this.#longest) this.#kept = new Uint8Array(this.#longest);
		const room = this.#longest - this.#keptLength;
		if (room > 0) this.#kept.set(bytes.subarray(start, Math.min(end, start + room)), this.#keptLength);
		this.#keptLength += end - start;
	}

	match(bytes: Uint8Array, start: number, end: number): string | undefined {
		if (this.#keptLength === 0) return this.#found(bytes, start, end, end - start);
		this.keep(bytes, start, end);
		const length = this.#keptLength;
		this.#keptLength = 0;
		return this.#found(this.#kept, 0, Math.min(length, this.#longest), length);
	}

	#found(bytes: Uint8Array, start: number, end: number, length: number): string | undefined {
		const name = length > this.#longest ? undefined : find(this.#names, bytes, start, end);
		if (name === undefined && this.others !== undefined && this.others.length < MAX_OTHERS)
			this.others.push(shownName(utf8.decode(bytes.subarray(start, Math.min(end, start + MAX_OTHER_LENGTH)))));
		return name;
	}
}

export function shownName(name: string): string {
	return name.slice(0, MAX_OTHER_LENGTH).replace(/[^\x21-\x2b\x2d-\x7e]/g, "?") || "?";
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
