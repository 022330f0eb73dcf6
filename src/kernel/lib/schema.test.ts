/** The checker of schemas: every bound on both sides. */
import { describe, expect, it } from "vitest";
import { check, type Schema, sentence, withDefaults } from "./schema.ts";

function fields(schema: Schema, value: unknown): string[] {
	return check(schema, value).map(({ field }) => field);
}

const object = (properties: Record<string, Schema>, rest: Schema = {}): Schema => ({
	type: "object",
	properties,
	additionalProperties: false,
	...rest,
});

describe("check", () => {
	it.each<{ schema: Schema; inside: unknown[]; outside: unknown[]; must: string }>([
		{
			schema: { type: "integer", minimum: 0, maximum: 9 },
			inside: [0, 9, 1.0],
			outside: [-1, 10, 0.5, "1", true, NaN, null, undefined],
			must: "must be a whole number from 0 to 9.",
		},
		{
			schema: { type: "integer", minimum: 3 },
			inside: [3, Number.MAX_SAFE_INTEGER],
			outside: [2, Number.MAX_SAFE_INTEGER + 1, Infinity],
			must: "must be a whole number from 3.",
		},
		{
			schema: { type: "integer", maximum: 3 },
			inside: [3, -3],
			outside: [4],
			must: "must be a whole number of at most 3.",
		},
		{
			schema: { type: "integer", exclusiveMinimum: 5, "x-unit": "ms" },
			inside: [6],
			outside: [5, 5.5],
			must: "must be a whole number of ms above 5.",
		},
		{
			schema: { type: "number", exclusiveMinimum: 0, maximum: 1 },
			inside: [0.001, 1],
			outside: [0, 1.001, NaN, Infinity, "1"],
			must: "must be a number above 0 and at most 1.",
		},
		{
			schema: { type: "number" },
			inside: [-1.5],
			outside: [NaN, Infinity, -Infinity],
			must: "must be a number.",
		},
		{
			schema: { type: "boolean" },
			inside: [true, false],
			outside: [0, "true", null],
			must: "must be true or false.",
		},
		{
			schema: { type: "string" },
			inside: ["", "x"],
			outside: [7, null, ["x"]],
			must: "must be text.",
		},
		{
			schema: { type: "string", minLength: 2, maxLength: 3 },
			inside: ["ab", "abc", "\u{1f600}\u{1f600}\u{1f600}"],
			outside: ["a", "abcd", "\u{1f600}", "x".repeat(100)],
			must: "must be text of 2 to 3 characters.",
		},
		{
			schema: { type: "string", minLength: 1 },
			inside: ["a"],
			outside: [""],
			must: "must be text of 1 or more characters.",
		},
		{
			schema: { type: "string", maxLength: 2 },
			inside: ["", "ab"],
			outside: ["abc"],
			must: "must be text of at most 2 characters.",
		},
		{
			schema: { type: "string", pattern: "^a+$", "x-message": "must be one or more a." },
			inside: ["a", "aa"],
			outside: ["", "ab", "a\n"],
			must: "must be one or more a.",
		},
		{
			schema: { type: "string", format: "uri" },
			inside: ["http://a", "HTTPS://a.test:1/x?y#z"],
			outside: ["a.test", "ftp://a.test", "http://", "/x", ""],
			must: "must be an absolute http or https URL.",
		},
		{
			schema: { type: "string", format: "uri", maxLength: 10 },
			inside: ["http://a/b"],
			outside: ["http://a/bc"],
			must: "must be an absolute http or https URL of at most 10 characters.",
		},
		{
			schema: { type: "string", format: "origin" },
			inside: ["http://a", "https://a.test:1", "tauri://localhost"],
			outside: ["http://a/", "a", "null", "http://a?b", "http://b@a"],
			must: "must be an origin such as https://app.example.com, without a path.",
		},
		{ schema: { const: "x" }, inside: ["x"], outside: ["y", null], must: "must be x." },
		{
			schema: { enum: ["a", "b", "c"] },
			inside: ["a", "c"],
			outside: ["d", "A", ["a"]],
			must: "must be a, b or c.",
		},
		{
			schema: { type: "array", minItems: 1, maxItems: 2 },
			inside: [[1], [1, "x"]],
			outside: [[], [1, 2, 3], { 0: 1 }, "x"],
			must: "must be a list of 1 to 2 entries.",
		},
		{
			schema: { type: "array", minItems: 1 },
			inside: [[1]],
			outside: [[]],
			must: "must be a list of 1 or more entries.",
		},
		{
			schema: { type: "array", maxItems: 0 },
			inside: [[]],
			outside: [[1]],
			must: "must be a list of at most 0 entries.",
		},
		{
			schema: { type: "object" },
			inside: [{}, { a: 1 }],
			outside: [[], null, "x", 7],
			must: "must be an object.",
		},
		{
			schema: { oneOf: [{ const: "off" }, { type: "integer", minimum: 0 }] },
			inside: ["off", 0],
			outside: ["on", -1, null, [], {}],
			must: "must be off or a whole number from 0.",
		},
		{ schema: {}, inside: [1, null, [], {}], outside: [], must: "must be any value." },
	])("D2: a value that $must", ({ schema, inside, outside, must }) => {
		for (const value of inside) expect(check(schema, value), JSON.stringify(value)).toEqual([]);
		for (const value of outside)
			expect(check(schema, value, "f"), JSON.stringify(value)).toEqual([{ field: "f", message: must }]);
		expect(sentence(schema)).toBe(must);
	});

	it("D2: members are named by their path, all at once", () => {
		const schema = object({
			a: object({ b: { type: "array", items: object({ c: { type: "integer" } }) } }),
			d: { type: "boolean" },
		});
		expect(fields(schema, { a: { b: [{ c: 1 }, { c: "x" }, 7, { e: 1 }] }, d: 0, f: 1 })).toEqual([
			"a.b.1.c",
			"a.b.2",
			"a.b.3.e",
			"d",
			"f",
		]);
		expect(check(schema, { d: 0 }, "policy")).toEqual([{ field: "policy.d", message: "must be true or false." }]);
	});

	it("D4: null is an absent optional member; a required one is missing, with what it must be", () => {
		const schema = object({ a: { type: "integer", minimum: 1 }, b: { type: "string" } }, { required: ["a"] });
		expect(check(schema, { a: 1, b: null })).toEqual([]);
		for (const value of [{}, { a: null }, { a: undefined }])
			expect(check(schema, value)).toEqual([{ field: "a", message: "is missing; it must be a whole number from 1." }]);
	});

	it("D2: unknown members are faults where the schema is closed, and the known ones are named", () => {
		expect(check(object({ a: {}, b: {} }), { c: 1 })).toEqual([
			{ field: "c", message: "is unknown; expected one of a, b." },
		]);
		expect(check({ type: "object", properties: { a: {} } }, { c: 1 })).toEqual([]);
	});

	it("D2: names at most 100 faults, however large the value", () => {
		const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, 0]));
		const items = { type: "array", items: { type: "string" } } as const;
		for (const [schema, value] of [
			[object({ name: {} }), many],
			[object({}, { additionalProperties: { type: "string" } }), many],
			[items, Array(5000).fill(0)],
			[{ type: "array", items }, [Array(5000).fill(0)]],
		] as const)
			expect(check(schema, value)).toHaveLength(100);
	});

	it("D2: members of a map fit one schema, and their names another", () => {
		const schema: Schema = {
			type: "object",
			propertyNames: { type: "string", maxLength: 1 },
			additionalProperties: { type: "integer" },
		};
		expect(check(schema, { a: 1, b: 2 })).toEqual([]);
		expect(check(schema, { a: "x", bb: 2, c: null })).toEqual([
			{ field: "a", message: "must be a whole number." },
			{
				field: "bb",
				message: "has an invalid name: it must be text of at most 1 characters.",
			},
			{ field: "c", message: "must be a whole number." },
		]);
	});

	it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
		"D2: the member %s is one like any other",
		(name) => {
			const value: unknown = JSON.parse(`{"${name}": 7}`);
			expect(fields(object({ a: {} }), value)).toEqual([name]);
			expect(fields({ type: "object", additionalProperties: { type: "string" } }, value)).toEqual([name]);
			expect(check(object({ [name]: { type: "integer" } }, { required: [name] }), {})).toEqual([
				{ field: name, message: "is missing; it must be a whole number." },
			]);
			expect(fields({ oneOf: [object({ type: { const: name } }), object({ type: { const: "b" } })] }, {})).toEqual([
				"type",
			]);
		},
	);

	it("D2: of several shapes the one is checked that the value says it is", () => {
		const schema: Schema = {
			oneOf: [
				{ const: "off" },
				object({ type: { const: "a" }, x: { type: "integer" } }, { required: ["type", "x"] }),
				object({ type: { const: "b" } }, { required: ["type"] }),
			],
			"x-message": "must be off or an object with type.",
		};
		for (const value of ["off", { type: "a", x: 1 }, { type: "b" }]) expect(check(schema, value)).toEqual([]);
		expect(check(schema, { type: "a" })).toEqual([{ field: "x", message: "is missing; it must be a whole number." }]);
		expect(check(schema, { type: "b", x: 1 })).toEqual([{ field: "x", message: "is unknown; expected one of type." }]);
		expect(check(schema, { type: "c" })).toEqual([{ field: "type", message: "must be a or b." }]);
		expect(check(schema, {})).toEqual([{ field: "type", message: "is missing; it must be a or b." }]);
		for (const value of ["on", 7, []])
			expect(check(schema, value, "f")).toEqual([{ field: "f", message: "must be off or an object with type." }]);
	});

	it("D2: where a list or one object is a possible shape, the fault names its member", () => {
		const list: Schema = { oneOf: [{ const: "*" }, { type: "array", items: { type: "string" } }] };
		expect(fields(list, ["a", 7])).toEqual(["1"]);
		expect(fields({ oneOf: [{ const: "off" }, object({ a: { type: "integer" } })] }, { a: "x" })).toEqual(["a"]);
	});
});

describe("withDefaults", () => {
	it("D4, D35: fills what is absent or null, at every depth, and changes nothing else", () => {
		const schema = object({
			a: { type: "integer", default: 1 },
			b: object({ c: { default: 2 }, d: {} }, { default: { c: 3 } }),
			e: {},
		});
		expect(withDefaults(schema, {})).toEqual({ a: 1, b: { c: 3 } });
		expect(withDefaults(schema, { a: null, b: { c: null, d: 5 }, e: null })).toStrictEqual({
			a: 1,
			b: { c: 2, d: 5 },
		});
		expect(withDefaults(schema, { a: 0, b: { c: false }, e: "" })).toEqual({
			a: 0,
			b: { c: false },
			e: "",
		});
	});

	it("D35: what came in is not changed", () => {
		const raw = Object.freeze({ b: Object.freeze({}) });
		expect(withDefaults(object({ b: object({ c: { default: 2 } }) }), raw)).toEqual({
			b: { c: 2 },
		});
	});
});

it("D2: a misspelt name and a misspelt word have the one that is meant in their fault", () => {
	const schema = {
		type: "object",
		additionalProperties: false,
		properties: { idleTimeout: { type: "integer" }, scope: { enum: ["read", "write"] } },
	} as const;
	expect(check(schema, { idelTimeout: 1, scope: "wrtie", other: 1 })).toEqual([
		{ field: "scope", message: "must be read or write. Did you mean 'write'?" },
		{ field: "idelTimeout", message: "is unknown; did you mean idleTimeout?" },
		{ field: "other", message: "is unknown; expected one of idleTimeout, scope." },
	]);
});
