import { describe, expect, it } from "vitest";
import { atPointer, fill, fillHeaders, fillPath, fillPointer, fillTexts, lookUp } from "./template.ts";

const names = {
	input: {
		text: "a/b",
		n: 7,
		zero: 0,
		no: null,
		list: ["x", { y: 1 }],
		dots: "..",
		slash: "a\r\nb",
		half: "\ud800",
		space: "a b?%",
	},
	job: { id: "sync-1", uuid: "1" },
	env: { TOKEN: "t" },
};

describe("fill", () => {
	it("makes a whole name the value, and writes it within text", () => {
		expect(fill("{input.list}", names)).toBe(names.input.list);
		expect(fill("n={input.n}, {input.list}", names)).toBe('n=7, ["x",{"y":1}]');
		expect(fill({ a: ["{input.zero}", true, { b: "{job.uuid}" }], c: 1 }, names)).toEqual({
			a: [0, true, { b: "1" }],
			c: 1,
		});
		expect(fill("{input.list.1.y}", names)).toBe(1);
	});

	it("omits members with a missing value, and keeps null", () => {
		expect(fill({ a: "{input.none}", b: "x{input.none}", c: "{input.no}", d: ["{input.none}"] }, names)).toEqual({
			c: null,
			d: [null],
		});
	});

	it("leaves braces that are no name, and has no expressions", () => {
		for (const text of ['{"a":1}', "{}", "{input.n + 1}", "{input[0]}"]) expect(fill(text, names)).toBe(text);
	});

	it("finds own members only, and keeps a member named __proto__", () => {
		expect(lookUp("input.constructor", names)).toBeUndefined();
		expect(lookUp("input.text.length", names)).toBeUndefined();
		const filled = fill(JSON.parse('{"__proto__":{"a":"{input.n}"}}'), names);
		expect(JSON.stringify(filled)).toBe('{"__proto__":{"a":7}}');
	});
});

describe("fillPath", () => {
	it("makes each value one percent-encoded segment", () => {
		expect(fillPath("/m/{input.space}/run?x=1", names)).toBe("/m/a%20b%3F%25/run?x=1");
	});

	it.each([
		["/{input.dots}", '"." or ".."'],
		["/.{input.dot}", '"." or ".."'],
		["/{input.text}", 'must not contain "/"'],
		["/{input.back}", 'must not contain "/"'],
		["/{input.nul}", 'must not contain "/"'],
		["/{input.none}", "needs input.none"],
		["/{input.no}", "needs input.no"],
		["/{input.list}", "must be a text or a number"],
		["/{input.half}", "not valid Unicode"],
	])("refuses %s", (path, sentence) => {
		expect(() => fillPath(path, { ...names, input: { ...names.input, dot: ".", back: "a\\b", nul: "a\0" } })).toThrow(
			sentence,
		);
	});
});

describe("texts and headers", () => {
	it("omits a query with a missing or null value", () => {
		expect(fillTexts({ a: "{input.n}", b: "{input.none}", c: "{input.no}", d: "x" }, names)).toEqual([
			["a", "7"],
			["d", "x"],
		]);
	});

	it("refuses a line break in a header", () => {
		expect(fillHeaders({ authorization: "Bearer {env.TOKEN}" }, names)).toEqual({ authorization: "Bearer t" });
		expect(() => fillHeaders({ x: "{input.slash}" }, names)).toThrow("header x");
	});
});

describe("atPointer", () => {
	it("follows RFC 6901", () => {
		const value = { a: [{ "b/c~d": 5 }], "": 6 };
		expect(atPointer(value, "")).toBe(value);
		expect(atPointer(value, "/a/0/b~1c~0d")).toBe(5);
		expect(atPointer(value, "/")).toBe(6);
		for (const missing of ["/a/1", "/a/00", "/a/length", "/x/y", "/constructor"])
			expect(atPointer(value, missing)).toBeUndefined();
	});
});

it("fillPointer: each value is one key", () => {
	expect(fillPointer("/{submit.id}/a", { submit: { id: "a/b~c" } })).toBe("/a~1b~0c/a");
	expect(atPointer({ "a/b~c": { a: 1 } }, "/a~1b~0c/a")).toBe(1);
	expect(fillPointer("/{submit.none}/a", {})).toBe("//a");
});
