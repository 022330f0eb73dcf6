/**
 * Checks that a text is JSON (RFC 8259) without making its values, which may take more than 20 times the memory of the
 * text: 10 MB of `{},` are 227 MB of objects.
 */

/** Objects and lists within each other. */
const MAX_DEPTH = 10_000;
/** Characters of a number. */
const MAX_NUMBER = 10_000;
const WORD = /[\w+.-]{1,10001}/y;
const LITERAL = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Index of what JSON cannot have there, or does not have within these bounds. Undefined for JSON. */
export function jsonFaultAt(text: string): number | undefined {
	/** What ends the open objects and lists. */
	const ends: string[] = [];
	let at = skipSpace(text, 0);
	for (;;) {
		const first = text[at];
		if (first === "{" || first === "[") {
			if (ends.length === MAX_DEPTH) return at;
			const end = first === "{" ? "}" : "]";
			const next = skipSpace(text, at + 1);
			if (text[next] !== end) {
				ends.push(end);
				at = end === "}" ? valueAfterName(text, next) : next;
				if (at < 0) return next;
				continue;
			}
			at = next + 1;
		} else {
			const end = first === '"' ? endOfString(text, at) : endOfLiteral(text, at);
			if (end < 0) return at;
			at = end;
		}
		// After a value: the next one, or ends of what has it.
		for (;;) {
			at = skipSpace(text, at);
			const end = ends.at(-1);
			if (end === undefined) return at === text.length ? undefined : at;
			if (text[at] === end) {
				ends.pop();
				at += 1;
				continue;
			}
			if (text[at] !== ",") return at;
			const next = skipSpace(text, at + 1);
			at = end === "}" ? valueAfterName(text, next) : next;
			if (at < 0) return next;
			break;
		}
	}
}

/** Negative without a name and a colon. */
function valueAfterName(text: string, start: number): number {
	const end = text[start] === '"' ? endOfString(text, start) : -1;
	const colon = end < 0 ? -1 : skipSpace(text, end);
	return text[colon] === ":" ? skipSpace(text, colon + 1) : -1;
}

function skipSpace(text: string, start: number): number {
	let at = start;
	for (; ; at += 1) {
		const unit = text.charCodeAt(at);
		if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return at;
	}
}

/** Negative for a string without its end, or with what it cannot have. */
function endOfString(text: string, start: number): number {
	for (let at = start + 1; at < text.length; at += 1) {
		const unit = text.charCodeAt(at);
		if (unit === QUOTE) return at + 1;
		if (unit < 0x20) return -1;
		if (unit !== BACKSLASH) continue;
		at += 1;
		const escaped = text[at] ?? "";
		if (escaped === "u") {
			if (!/^[\da-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) return -1;
			at += 4;
		} else if (escaped === "" || !'"\\/bfnrt'.includes(escaped)) return -1;
	}
	return -1;
}

/** Negative for what is no number, `true`, `false` or `null`. */
function endOfLiteral(text: string, start: number): number {
	WORD.lastIndex = start;
	const word = WORD.exec(text)?.[0] ?? "";
	return word.length <= MAX_NUMBER && LITERAL.test(word) ? start + word.length : -1;
}
