/**
 * The checker of schemas against any schema and any value, and against the service's own schemas.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OPTIONS } from "../config/options.ts";
import { KEY_REQUEST_SCHEMA } from "../core/access/key-request.ts";
import { check, type Schema, sentence } from "./schema.ts";
import { SUBMISSION_SCHEMA } from "../core/jobs/submission.ts";
import { ENDPOINT_SCHEMA } from "../launchers/endpoint-settings.ts";

const object = (properties: Record<string, Schema>, rest: Schema = {}): Schema => ({
	type: "object",
	properties,
	additionalProperties: false,
	...rest,
});

/** A schema with values that fit it, one that does not, and the field that is then at fault. */
interface Sample {
	schema: Schema;
	good: unknown;
	bad: unknown;
	at: string;
}

const join = (name: string | number, at: string): string => (at === "" ? String(name) : `${name}.${at}`);

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
	fc.tuple(fc.string({ unit: "binary" }), fc.nat(3), fc.nat(3)).map(([text, less, more]): Sample => {
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
		fc.tuple(tie("sample"), fc.nat(3), fc.nat(3)).map(([{ schema, good, bad, at }, before, after]): Sample => {
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
				const schema = object(Object.fromEntries(names.map((name) => [name, members[name]!.schema])), {
					required: names,
				});
				if (how === "unknown") return { schema, good, bad: { ...good, "not known": 1 }, at: "not known" };
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
							/^(must be|is missing; it must be|is unknown; expected one of|is unknown; did you mean) .*[.?]$/s,
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
			fc.dictionary(fc.constantFrom(...names), fc.oneof(fc.anything(), fc.jsonValue(), fc.constant("sEcReT"))),
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
	for (const [name, member] of Object.entries(schema.properties ?? {})) yield* all(member, `${path}.${name}`);
	for (const [at, branch] of (schema.oneOf ?? []).entries()) yield* all(branch, `${path}|${at}`);
	if (schema.items) yield* all(schema.items, `${path}[]`);
	if (schema.propertyNames) yield* all(schema.propertyNames, `${path}:name`);
	if (typeof schema.additionalProperties === "object") yield* all(schema.additionalProperties, `${path}.*`);
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
			for (const value of [...(schema.default === undefined ? [] : [schema.default]), ...(schema.examples ?? [])])
				expect(check(schema, value)).toEqual([]);
		},
	);
});
