import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SplitOutput, splitOutput as splitting } from "./chunk-split.ts";
import { scanJson } from "./json-scan.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** All pieces, without a pause. */
function splitOutput(text: string, limit: number): SplitOutput {
	const steps = splitting(new TextEncoder().encode(text), limit);
	let step = steps.next();
	while (!step.done) step = steps.next();
	return step.value;
}

function pieces(text: string, limit: number): string[] {
	const split = splitOutput(text, limit);
	if (!split.ok) throw new Error(split.reason);
	return split.pieces;
}

/**
 * A value of the source or of a piece with its own text; a plain recursive reading, to compare
 * with.
 */
interface Node {
	text: string;
	items?: { name: string; value: Node }[];
}

function read(text: string): Node {
	let at = 0;
	const skip = (pattern: RegExp) => {
		pattern.lastIndex = at;
		const found = pattern.exec(text)?.[0] ?? "";
		at += found.length;
		return found;
	};
	const value = (): Node => {
		skip(/[ \t\n\r]*/y);
		const start = at;
		const open = text[at];
		if (open !== "[" && open !== "{") {
			skip(/"(?:\\.|[^"\\])*"|[^\s,\]}]+/sy);
			return { text: text.slice(start, at) };
		}
		at++;
		const items: { name: string; value: Node }[] = [];
		for (skip(/[\s,]*/y); text[at] !== "]" && text[at] !== "}"; skip(/[\s,]*/y)) {
			const name = open === "{" ? skip(/"(?:\\.|[^"\\])*"/sy) : "";
			if (open === "{") skip(/[\s:]*/y);
			items.push({ name, value: value() });
		}
		at++;
		return { text: text.slice(start, at), items };
	};
	return value();
}

/** Whether the parts join to the source, as `splitOutput` defines it. */
function joins(source: Node, parts: readonly Node[]): boolean {
	const [first] = parts;
	if (first === undefined) return false;
	if (parts.length === 1 && first.text === source.text) return true;
	if (source.items === undefined) {
		return (
			source.text.startsWith('"') &&
			parts.every((part) => part.text.startsWith('"')) &&
			`"${parts.map((part) => part.text.slice(1, -1)).join("")}"` === source.text
		);
	}
	if (parts.some((part) => part.items === undefined || part.text[0] !== source.text[0])) return false;
	const held = parts.flatMap((part) => part.items!.map((item) => ({ ...item, alone: part.items!.length === 1 })));
	const fits = (item: number, from: number): boolean => {
		const wanted = source.items![item];
		if (wanted === undefined) return from === held.length;
		if (held[from]?.name === wanted.name && held[from].value.text === wanted.value.text && fits(item + 1, from + 1))
			return true;
		for (let to = from; to < held.length && held[to]!.alone && held[to]!.name === wanted.name; to++) {
			if (
				joins(
					wanted.value,
					held.slice(from, to + 1).map((part) => part.value),
				) &&
				fits(item + 1, to + 1)
			)
				return true;
		}
		return false;
	};
	return fits(0, 0);
}

/** A unit that a string may be cut between. */
const unit = fc.oneof(
	fc.constantFrom(
		"a",
		"bc",
		"é",
		"語",
		"😀",
		"\\n",
		"\\\\",
		'\\"',
		"\\u00e9",
		"\\ud83d\\ude00",
		"\\uD83D\\uDE00",
		"\\ud83d",
		"\\ude00",
		"\\uDC00",
		"\\\\ud83d\\ude00",
	),
	fc.stringMatching(/^[a-z]{1,9}$/),
);
const stringText = fc.array(unit, { maxLength: 12 }).map((parts) => `"${parts.join("")}"`);
const space = fc.constantFrom("", "", "", " ", "\n  ");
const { value: valueText } = fc.letrec<{ value: string }>((tie) => {
	const spaced = fc.tuple(space, tie("value"), space).map((parts) => parts.join(""));
	const member = fc
		.tuple(space, stringText, space, spaced)
		.map(([before, name, behind, value]) => `${before}${name}${behind}:${value}`);
	return {
		value: fc.oneof(
			{ depthSize: "small", withCrossShrink: true },
			fc.constantFrom("true", "null", "[]", "{ }", "[   ]", "-1.50e3", "12345678901234567890"),
			stringText,
			stringText,
			fc.array(spaced, { maxLength: 6 }).map((items) => `[${items.join(",")}]`),
			fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(",")}}`),
		),
	};
});
const text = fc.tuple(space, valueText, space).map((parts) => parts.join(""));

/** Whether something in the value is too large for `room` bytes and cannot be cut. */
function mustFail(value: Node, room: number): boolean {
	if (bytesOf(value.text) <= room) return false;
	if (value.items !== undefined)
		return (
			room < 2 ||
			value.items.some((item) => mustFail(item.value, room - 2 - (item.name === "" ? 0 : bytesOf(item.name) + 1)))
		);
	if (!value.text.startsWith('"') || value.text === '""') return true;
	const units = value.text.slice(1, -1).match(/\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]/gsu) ?? [];
	return units.some((part) => bytesOf(part) > room - 2);
}

/** What is wrong with the outcome, if anything. */
function wrong(source: string, limit: number, split: SplitOutput): string | undefined {
	if (split.ok === mustFail(read(source), limit)) return split.ok ? "should have failed" : "should not have failed";
	if (!split.ok)
		return /^The output cannot be split: .*\.$/.test(split.reason) ? undefined : "the reason is no sentence";
	if (bytesOf(source) <= limit)
		return split.pieces.length === 1 && split.pieces[0] === source ? undefined : "not the source itself";
	if (split.pieces.some((piece) => bytesOf(piece) > limit)) return "over the limit";
	if (split.pieces.some((piece) => piece.includes("\uFFFD"))) return "cut inside a character";
	if (split.pieces.some((piece) => !scanJson(new TextEncoder().encode(piece), { members: [] }).ok)) return "not JSON";
	return joins(read(source), split.pieces.map(read)) ? undefined : "does not join to the source";
}

describe("D7: splitting the output of a chunk", () => {
	it("D7: pieces are JSON within the limit, cut between characters, and join to the source", () => {
		let failed = 0;
		let many = 0;
		fc.assert(
			fc.property(text, fc.integer({ min: 1, max: 80 }), (source, limit) => {
				const split = splitOutput(source, limit);
				if (!split.ok) failed++;
				else if (split.pieces.length > 1) many++;
				expect(wrong(source, limit, split)).toBe(undefined);
			}),
			{ numRuns: 10_000 },
		);
		expect(failed).toBeGreaterThan(100);
		expect(many).toBeGreaterThan(1000);
	});

	it("D7: a string is never cut inside an escape, a pair or a character", () => {
		const units = [
			"\\ud83d\\ude00",
			"\\ud83d\\ud83d\\ude00",
			"\\uDE00\\ud83d",
			"\\\\u0041",
			"😀",
			"語",
			"é",
			"\\n",
			"x",
		];
		const source = `"${units.join("").repeat(3)}"`;
		for (let limit = 14; limit < 60; limit++) {
			const parts = pieces(source, limit).map((piece) => piece.slice(1, -1));
			expect(parts.join("")).toBe(source.slice(1, -1));
			for (let at = 1; at < parts.length; at++) {
				expect(parts[at - 1]!.endsWith("\\ud83d") && parts[at]!.startsWith("\\ude00")).toBe(false);
			}
			for (const part of parts) expect(JSON.parse(`"${part}"`)).not.toContain("\uFFFD");
		}
	});

	it("D7: elements and members keep their source text and fill each piece", () => {
		expect(pieces('[1, 1.0, 12345678901234567890, "\\u0041"]', 26)).toEqual([
			"[1, 1.0]",
			"[12345678901234567890]",
			'["\\u0041"]',
		]);
		expect(pieces("[1,2,3,4,5,6,7]", 7)).toEqual(["[1,2,3]", "[4,5,6]", "[7]"]);
		expect(pieces('{"a":1,"b":2, "a": 3}', 14)).toEqual(['{"a":1,"b":2}', '{"a": 3}']);
	});

	it("D7: a member or element too large alone is split under its key, apart from its neighbours", () => {
		expect(pieces('{"a":1,"text":"abcdefghij","b":2}', 14)).toEqual([
			'{"a":1}',
			'{"text":"abc"}',
			'{"text":"def"}',
			'{"text":"ghi"}',
			'{"text":"j"}',
			'{"b":2}',
		]);
		expect(pieces('[0,["abcdef",1],2]', 9)).toEqual(["[0]", '[["abc"]]', '[["def"]]', "[[1]]", "[2]"]);
		expect(pieces('{"a":{"b":[1,2,3]}}', 16)).toEqual(['{"a":{"b":[1]}}', '{"a":{"b":[2]}}', '{"a":{"b":[3]}}']);
	});

	it("D7: white space alone never makes a piece too large or a failure", () => {
		expect(pieces(`[${" ".repeat(50)}]`, 10)).toEqual(["[]"]);
		expect(pieces(`${" ".repeat(50)}{"a"${" ".repeat(50)}:1 }`, 10)).toEqual(['{"a":1}']);
		expect(pieces(` "abc" `, 5)).toEqual(['"abc"']);
	});

	it("D7: only a name, number or word over the limit fails, with a sentence", () => {
		const reason = (source: string, limit: number) => {
			const split = splitOutput(source, limit);
			return split.ok ? split.pieces : split.reason;
		};
		expect(reason(`[${"1".repeat(30)}]`, 20)).toBe(
			"The output cannot be split: the number at byte 1 has 30 bytes, a chunk at most 20.",
		);
		expect(reason(`{"${"k".repeat(30)}":[]}`, 20)).toBe(
			"The output cannot be split: the name at byte 1 has 32 bytes, a chunk at most 20.",
		);
		expect(reason('[[[["abcdefghij"]]]]', 10)).toBe(
			"The output cannot be split: the names and brackets around the value at byte 4 leave " +
				"no room for it in a chunk of 10 bytes.",
		);
		expect(reason(`{"aaaaaaa":"","b":"${"x".repeat(30)}"}`, 12)).toContain("leave no room");
	});

	it("D7: refuses to repeat a huge name in millions of pieces", () => {
		const split = splitOutput(`{"${"k".repeat(99_980)}":"${"x".repeat(100_000)}"}`, 100_000);
		expect(split).toEqual({
			ok: false,
			reason:
				"The output cannot be split: with the names that each repeats, " +
				"its parts would take over twice its size plus 16 MB.",
		});
	});

	it("D7: takes nesting of any depth without recursion", () => {
		const depth = 400_000;
		const deep = `${"[".repeat(depth)}"${"x".repeat(300_000)}"${"]".repeat(depth)}`;
		expect(pieces(deep, 1_000_000)).toHaveLength(2);
		expect(splitOutput(`${"[".repeat(600_000)}1${"]".repeat(600_000)}`, 1_000_000).ok).toBe(false);
		const bends = `${"[1,".repeat(depth)}2${",3]".repeat(depth)}`;
		expect(splitOutput(bends, 1_000_000).ok).toBe(false);
	});

	/** How often it pauses: once for so many bytes that it reads or copies. */
	function pausesOf(text: string): number {
		let pauses = 0;
		for (const steps = splitting(new TextEncoder().encode(text), 1_000_000); !steps.next().done; ) pauses += 1;
		return pauses;
	}

	it("D7: its work is in proportion to the size", () => {
		const element = `{"id":1,"text":"${"é".repeat(40)}","list":[1,2,[3]]}`;
		const pauses = (count: number) => pausesOf(`[${Array(count).fill(element).join(",")}]`);
		const few = pauses(40_000);
		expect(few).toBeGreaterThan(10);
		expect(pauses(320_000)).toBeLessThan(few * 9);
	});

	it.each([
		["a string", `"${"x".repeat(5_000_000)}"`],
		["a list", `[${"1,".repeat(2_500_000)}1]`],
		["a name", `{"${"x".repeat(5_000_000)}":1}`],
		["a number", `[${"1".repeat(5_000_000)}]`],
	])("pauses often while it reads %s", (_, text) => {
		expect(pausesOf(text)).toBeGreaterThanOrEqual(10);
	});
});
