/** The byte order mark that editors and tools on Windows put before UTF-8. It is no part of the text. */

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NONE = Buffer.alloc(0);

export function withoutMark(text: string): string {
	return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** Drops it from bytes that arrive in pieces. */
export class MarkFilter {
	/** The text so far, as long as it may still be the mark. */
	#begin: Buffer | undefined = NONE;

	push(piece: Buffer): Buffer {
		if (this.#begin === undefined) return piece;
		const begin = this.#begin.length === 0 ? piece : Buffer.concat([this.#begin, piece]);
		const isOpen = begin.length < MARK.length && MARK.subarray(0, begin.length).equals(begin);
		this.#begin = isOpen ? begin : undefined;
		if (isOpen) return NONE;
		return MARK.equals(begin.subarray(0, MARK.length)) ? begin.subarray(MARK.length) : begin;
	}

	/** What was kept of a text that is shorter than the mark. */
	end(): Buffer {
		const begin = this.#begin ?? NONE;
		this.#begin = undefined;
		return begin;
	}
}
