/**
 * The time that a regular expression takes grows with the length of the text and no faster: nearly all meet text
 * from outside. Each in the service and the console is analysed by scslre (as in eslint-plugin-regexp) and, for
 * what that does not model, matched with its own pieces, repeated.
 */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { analyse } from "scslre";
import { parseSync } from "vite";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Pattern {
	/** File and line. */
	at: string;
	source: string;
	flags: string;
}

/** Literals, calls of `RegExp`, and texts such as "^...$", which are patterns of schemas. */
function patternsIn(path: string, text: string): Pattern[] {
	const found: Pattern[] = [];
	const visit = (node: unknown): void => {
		if (typeof node !== "object" || node === null) return;
		const { type, start, end, regex, callee } = node as Record<string, any>;
		const at = `${path}:${text.slice(0, start).split("\n").length}`;
		if (regex) found.push({ at, source: regex.pattern, flags: regex.flags });
		else if (["Literal", "TemplateLiteral"].includes(type) && /^["`]\^.+\$["`]$/s.test(text.slice(start, end)))
			found.push({ at, source: String(valueOf(text.slice(start, end))), flags: "u" });
		else if (callee?.name === "RegExp") {
			const { source, flags } = valueOf(text.slice(start, end)) as RegExp;
			found.push({ at, source, flags });
		}
		for (const each of Object.values(node)) visit(each);
	};
	const { program, errors } = parseSync(path, text);
	if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
	visit(program);
	return found;
}

/** The value of an expression in which each name stands for "x". */
function valueOf(expression: string): unknown {
	const names = { has: () => true, get: (_: object, name: string) => Reflect.get(globalThis, name) ?? "x" };
	// oxlint-disable-next-line no-implied-eval -- our own source
	return new Function("names", `with (names) return (${expression});`)(new Proxy({}, names));
}

/** What scslre reports: the parts of the pattern between which characters can be divided in many ways. */
function analysed({ at, source, flags }: Pattern): string[] {
	return analyse({ source, flags }, { assumeRejectingSuffix: false }).reports.map(
		({ type, character }) => `${at}: /${source}/${flags}: ${type} on ${character.pick}`,
	);
}

const LENGTH = 8192;
const SLOW_MS = 4;

/** Ms that the pattern takes for `piece`, repeated to this length, the best of five where it is slow. */
function took({ source, flags }: Pattern, piece: string, length: number): number {
	const text = `${piece.repeat(length / piece.length)}\0`;
	let best = Infinity;
	for (let left = 5; left > 0 && best > SLOW_MS; left -= 1) {
		const began = performance.now();
		text.replace(new RegExp(source, flags), "");
		best = Math.min(best, performance.now() - began);
	}
	return best;
}

/** Runs of literal characters, alone and before a character of a class. */
function piecesOf({ source }: Pattern): string[] {
	const runs = source
		.split(/\[(?:[^\]\\]|\\.)*\]|\\[a-zA-Z]|\{[\d,]+\}|[()|*+?^$.]/)
		.map((run) => run.replace(/\\(.)/g, "$1"))
		.filter(Boolean);
	return [...new Set(["", ...runs])]
		.flatMap((run) => ["", " ", "\n", "a", "1", "\\"].map((rest) => run + rest))
		.slice(1);
}

/** Pieces for which four times the length takes much more than four times the time: for a square, 16 times. */
function doubled(pattern: Pattern): string[] {
	const slow = piecesOf(pattern).find((piece) => {
		const once = took(pattern, piece, LENGTH);
		return once > SLOW_MS && took(pattern, piece, 4 * LENGTH) > 8 * once;
	});
	return slow === undefined
		? []
		: [`${pattern.at}: /${pattern.source}/${pattern.flags}: repeated ${JSON.stringify(slow)}`];
}

describe("regular expressions", () => {
	const files = ["src", "packages/worker/src", "console/src"].flatMap((folder) =>
		readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
	);
	const all = files
		.filter((path) => /(?<!\.test)\.tsx?$/.test(path))
		.flatMap((path) => patternsIn(path, readFileSync(ROOT + path, "utf8")));
	const patterns = [...new Map(all.map((each) => [`${each.source}/${each.flags}`, each])).values()];

	it("all are linear by analysis", () => {
		expect(patterns.length).toBeGreaterThan(200);
		expect(patterns.flatMap(analysed)).toEqual([]);
	});

	it("all are linear for their own pieces, repeated", () => {
		expect(patterns.flatMap(doubled)).toEqual([]);
	});

	it.each([
		["a literal", "const A = /^(#{1,6})\\s+(.*?)\\s*#*$/;"],
		["a construction", 'new RegExp(["a", String.raw`\\s*`].join("") + `${name}*\\\\s*$`, "i");'],
		["a pattern of a schema", 'const SCHEMA = { pattern: "^\\\\s*\\\\s*x$" };'],
	])("%s that is not is found by analysis", (_, text) => {
		expect(patternsIn("planted.ts", text).flatMap(analysed)).not.toEqual([]);
	});

	it("one that scslre does not find is found by its pieces", () => {
		const [planted] = patternsIn("planted.ts", String.raw`/"@file:((?:[^"\\]|\\.)*)"/`);
		expect(analysed(planted!)).toEqual([]);
		expect(doubled(planted!)).not.toEqual([]);
	});
});
