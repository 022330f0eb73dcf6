/** The checker of schemas: every bound on both sides, and any value against any schema. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OPTIONS } from "../config/options.ts";
import { KEY_REQUEST_SCHEMA } from "./key-request.ts";
import { check, sentence, withDefaults } from "./schema.ts";
import type { Schema } from "./schema.ts";
import { SUBMISSION_SCHEMA } from "./submission.ts";
import { ENDPOINT_SCHEMA } from "../endpoint-settings.ts";

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
			expect(check(schema, value, "f"), JSON.stringify(value)).toEqual([
				{ field: "f", message: must },
			]);
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
		expect(check(schema, { d: 0 }, "policy")).toEqual([
			{ field: "policy.d", message: "must be true or false." },
		]);
	});

	it("D4: an optional member that is null is absent; a required one is missing, and the sentence says what it must be", () => {
		const schema = object(
			{ a: { type: "integer", minimum: 1 }, b: { type: "string" } },
			{ required: ["a"] },
		);
		expect(check(schema, { a: 1, b: null })).toEqual([]);
		for (const value of [{}, { a: null }, { a: undefined }])
			expect(check(schema, value)).toEqual([
				{ field: "a", message: "is missing; it must be a whole number from 1." },
			]);
	});

	it("D2: unknown members are faults where the schema is closed, and the known ones are named", () => {
		expect(check(object({ a: {}, b: {} }), { c: 1 })).toEqual([
			{ field: "c", message: "is unknown; expected one of a, b." },
		]);
		expect(check({ type: "object", properties: { a: {} } }, { c: 1 })).toEqual([]);
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
			expect(fields({ type: "object", additionalProperties: { type: "string" } }, value)).toEqual([
				name,
			]);
			expect(check(object({ [name]: { type: "integer" } }, { required: [name] }), {})).toEqual([
				{ field: name, message: "is missing; it must be a whole number." },
			]);
			expect(
				fields(
					{ oneOf: [object({ type: { const: name } }), object({ type: { const: "b" } })] },
					{},
				),
			).toEqual(["type"]);
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
		for (const value of ["off", { type: "a", x: 1 }, { type: "b" }])
			expect(check(schema, value)).toEqual([]);
		expect(check(schema, { type: "a" })).toEqual([
			{ field: "x", message: "is missing; it must be a whole number." },
		]);
		expect(check(schema, { type: "b", x: 1 })).toEqual([
			{ field: "x", message: "is unknown; expected one of type." },
		]);
		expect(check(schema, { type: "c" })).toEqual([{ field: "type", message: "must be a or b." }]);
		expect(check(schema, {})).toEqual([
			{ field: "type", message: "is missing; it must be a or b." },
		]);
		for (const value of ["on", 7, []])
			expect(check(schema, value, "f")).toEqual([
				{ field: "f", message: "must be off or an object with type." },
			]);
	});

	it("D2: where a list or one object is a possible shape, the fault names its member", () => {
		const list: Schema = { oneOf: [{ const: "*" }, { type: "array", items: { type: "string" } }] };
		expect(fields(list, ["a", 7])).toEqual(["1"]);
		expect(
			fields({ oneOf: [{ const: "off" }, object({ a: { type: "integer" } })] }, { a: "x" }),
		).toEqual(["a"]);
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

/** A schema with values that fit it, one that does not, and the field that is then at fault. */
interface Sample {
	schema: Schema;
	good: unknown;
	bad: unknown;
	at: string;
}

const join = (name: string | number, at: string): string =>
	at === "" ? String(name) : `${name}.${at}`;

const leaf: fc.Arbitrary<Sample> = fc.oneof(
	fc
		.tuple(fc.integer({ min: -99, max: 99 }), fc.nat(50), fc.nat(50), fc.boolean())
		.map(([minimum, above, width, low]): Sample => {
			const maximum = minimum + above + width;
			return {
				schema: { type: "integer", minimum, maximum },
				good: minimum + above,
				bad: low ? minimum - 1 : maximum + 1,
				at: "",
			};
		}),
	fc
		.tuple(fc.string({ unit: "binary" }), fc.nat(3), fc.nat(3))
		.map(([text, less, more]): Sample => {
			const { length } = Array.from(text);
			return {
				schema: { type: "string", minLength: Math.max(0, length - less), maxLength: length + more },
				good: text,
				bad: text + "x".repeat(more + 1),
				at: "",
			};
		}),
	fc
		.uniqueArray(fc.string(), { minLength: 2, maxLength: 5 })
		.map(([bad, ...words]): Sample => ({ schema: { enum: words }, good: words[0], bad, at: "" })),
	fc
		.tuple(fc.boolean(), fc.oneof(fc.string(), fc.integer(), fc.constant([])))
		.map(([good, bad]): Sample => ({ schema: { type: "boolean" }, good, bad, at: "" })),
);

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
	sample: fc.oneof(
		{ depthSize: "small", withCrossShrink: true },
		leaf,
		fc
			.tuple(tie("sample"), fc.nat(3), fc.nat(3))
			.map(([{ schema, good, bad, at }, before, after]): Sample => {
				const around = (item: unknown): unknown[] => [
					...Array<unknown>(before).fill(good),
					item,
					...Array<unknown>(after).fill(good),
				];
				return {
					schema: { type: "array", items: schema },
					good: around(good),
					bad: around(bad),
					at: join(before, at),
				};
			}),
		fc
			.tuple(
				fc.dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), tie("sample"), {
					minKeys: 1,
					maxKeys: 4,
				}),
				fc.nat(),
				fc.constantFrom("value", "missing", "unknown"),
			)
			.map(([members, pick, how]): Sample => {
				const names = Object.keys(members);
				const chosen = names[pick % names.length]!;
				const good = Object.fromEntries(names.map((name) => [name, members[name]!.good]));
				const schema = object(
					Object.fromEntries(names.map((name) => [name, members[name]!.schema])),
					{ required: names },
				);
				if (how === "unknown")
					return { schema, good, bad: { ...good, "not known": 1 }, at: "not known" };
				if (how === "missing")
					return {
						schema,
						good,
						bad: Object.fromEntries(Object.entries(good).filter(([name]) => name !== chosen)),
						at: chosen,
					};
				return {
					schema,
					good,
					bad: { ...good, [chosen]: members[chosen]!.bad },
					at: join(chosen, members[chosen]!.at),
				};
			}),
	),
}));

describe("any schema", () => {
	it("D2: takes what fits, and refuses a value with one fault under the name of that field alone", () => {
		fc.assert(
			fc.property(sample, ({ schema, good, bad, at }) => {
				expect(check(schema, good)).toEqual([]);
				expect(check(schema, bad)).toEqual([
					{
						field: at,
						message: expect.stringMatching(
							/^(must be|is missing; it must be|is unknown; expected one of) .*\.$/s,
						),
					},
				]);
			}),
			{ numRuns: 500 },
		);
	});

	it("D2: never throws, whatever the value, and never shows it", () => {
		const schemas: Schema[] = [ENDPOINT_SCHEMA, SUBMISSION_SCHEMA, KEY_REQUEST_SCHEMA];
		const names = schemas.flatMap((schema) => Object.keys(schema.properties!));
		const value = fc.oneof(
			fc.anything(),
			fc.dictionary(
				fc.constantFrom(...names),
				fc.oneof(fc.anything(), fc.jsonValue(), fc.constant("sEcReT")),
			),
		);
		fc.assert(
			fc.property(fc.constantFrom(...schemas), value, (schema, any) => {
				for (const { message } of check(schema, any)) expect(message).not.toContain("sEcReT");
			}),
		);
	});
});

/** Every schema inside a schema, with its path. */
function* all(schema: Schema, path: string): Generator<[string, Schema]> {
	yield [path, schema];
	for (const [name, member] of Object.entries(schema.properties ?? {}))
		yield* all(member, `${path}.${name}`);
	for (const [at, branch] of (schema.oneOf ?? []).entries()) yield* all(branch, `${path}|${at}`);
	if (schema.items) yield* all(schema.items, `${path}[]`);
	if (schema.propertyNames) yield* all(schema.propertyNames, `${path}:name`);
	if (typeof schema.additionalProperties === "object")
		yield* all(schema.additionalProperties, `${path}.*`);
}

describe("our schemas", () => {
	const every = [
		...all(ENDPOINT_SCHEMA, "endpoint"),
		...all(SUBMISSION_SCHEMA, "submission"),
		...all(KEY_REQUEST_SCHEMA, "key"),
		...Object.entries(OPTIONS).flatMap(([name, { schema }]) => [...all(schema, name)]),
	];

	it.each(every)(
		"D2: %s has a sentence of its own where a pattern decides, and defaults and examples that fit",
		(path, schema) => {
			if (schema.pattern !== undefined) expect(schema["x-message"], path).toBeDefined();
			expect(sentence(schema)).toMatch(/^must .*\.$/);
			for (const value of [
				...(schema.default === undefined ? [] : [schema.default]),
				...(schema.examples ?? []),
			])
				expect(check(schema, value)).toEqual([]);
		},
	);
});
