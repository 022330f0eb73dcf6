/** Parses Python's `str()` of plain values, as SDK workers send errors (protocol C.2). */

const MAX_DEPTH = 50;
const WORDS: Readonly<Record<string, unknown>> = { None: null, True: true, False: false };
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", "\\": "\\", "'": "'", '"': '"' };

/**
 * Undefined for texts other than a dict, list or tuple of strings, numbers, None, True and False. Dicts have no
 * prototype.
 */
export function readPython(text: string): unknown {
	if (!/^[{[(]/.test(text)) return undefined;
	try {
		return reader(text);
	} catch (error) {
		if (error instanceof NotPlain) return undefined;
		throw error;
	}
}

class NotPlain extends Error {}

function reader(text: string): unknown {
	let at = 0;

	/** The pattern must be sticky. */
	function take(pattern: RegExp): RegExpExecArray | undefined {
		while (text[at] === " " || text[at] === "\n") at += 1;
		pattern.lastIndex = at;
		const found = pattern.exec(text);
		if (found) at += found[0].length;
		return found ?? undefined;
	}

	function items(close: RegExp, item: () => void): void {
		while (!take(close)) {
			item();
			if (take(/,/y)) continue;
			if (!take(close)) throw new NotPlain();
			return;
		}
	}

	function value(depth: number): unknown {
		if (depth > MAX_DEPTH) throw new NotPlain();
		if (take(/\{/y)) {
			const dict: Record<string, unknown> = Object.create(null);
			items(/\}/y, () => {
				const name = value(depth + 1);
				if (typeof name !== "string" || !take(/:/y)) throw new NotPlain();
				dict[name] = value(depth + 1);
			});
			return dict;
		}
		const open = take(/[[(]/y)?.[0];
		if (open !== undefined) {
			const list: unknown[] = [];
			items(open === "[" ? /\]/y : /\)/y, () => list.push(value(depth + 1)));
			return list;
		}
		const string = take(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/sy);
		if (string)
			return (string[1] ?? string[2]!).replace(/\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))/gs, unescaped);
		const number = take(/-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/y)?.[0];
		if (number !== undefined) return Number(number);
		const word = take(/None|True|False/y)?.[0];
		if (word === undefined) throw new NotPlain();
		return WORDS[word];
	}

	const whole = value(0);
	if (take(/./sy)) throw new NotPlain();
	return whole;
}

function unescaped(all: string, x?: string, u?: string, long?: string, one?: string): string {
	const code = x ?? u ?? long;
	if (code === undefined) return ESCAPES[one!] ?? all;
	const point = Number.parseInt(code, 16);
	return point <= 0x10ffff ? String.fromCodePoint(point) : all;
}
