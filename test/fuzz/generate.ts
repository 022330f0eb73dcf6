/** Generators that several targets share. All values can be stored as JSON. */
import fc from "fast-check";
import type { Case } from "./target.ts";

/** Text that JSON, HTTP, YAML or Python give a meaning. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
	fc.string({ maxLength: 12 }),
	fc.string({ unit: "binary", maxLength: 12 }),
	fc.constantFrom(
		..."__proto__|constructor|null|true|NaN|-0|1e999|off|*|%00|%2F|%|..".split("|"),
		...["\0", "\ufeff", "\u2028", "\ud83d\ude00", "\x1b[2J", "\r\n"],
		"x".repeat(300),
		"[".repeat(600),
	),
);

export const jsonValue: fc.Arbitrary<Case> = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Case>;

const space = fc.constantFrom("", "", "", " ", "\n", "\t \r");
const quoted = fc.oneof(
	fc
		.constantFrom(..."input|output|error|status|stopPod|id|metrics|webhook|policy|s3Config|__proto__|a|".split("|"))
		.map((name) => JSON.stringify(name)),
	fc.constantFrom('"\\u0069nput"', '"\\ud800"', '"\\ud83d\\ude00"', '"\u00e9\ud83d\ude00"', '"\\\\"', '"\\""'),
	oddText.map((text) => JSON.stringify(text)),
);
const number = fc.oneof(
	fc.constantFrom("0", "-0", "-1", "1e5", "0.10", "-1.5E-7", "9007199254740993", "1".repeat(30)),
	fc.integer().map(String),
);

/** JSON as text, with space, escapes, repeated names and long numbers. */
export const { value: jsonText } = fc.letrec<{ value: string }>((tie) => {
	const spaced = fc.tuple(space, tie("value"), space).map((parts) => parts.join(""));
	const member = fc
		.tuple(space, quoted, space, spaced)
		.map(([before, name, behind, value]) => `${before}${name}${behind}:${value}`);
	return {
		value: fc.oneof(
			{ depthSize: "small" },
			fc.constantFrom("true", "false", "null", "[]", "{ }", "NaN", "-Infinity"),
			number,
			quoted,
			fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(",")}}`),
			fc.array(spaced, { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
		),
	};
});

/** Edits that usually make JSON invalid. */
export const brokenJson: fc.Arbitrary<string> = fc
	.tuple(
		jsonText,
		fc.nat(),
		fc.constantFrom(...Array.from('{}[]:,"\\-+.0eEtn \x00\x1f\x7f\x80\xc0\xe9\xff')),
		fc.nat(2),
	)
	.map(([text, where, mark, removed]) => {
		const at = where % (text.length + 1);
		return text.slice(0, at) + mark + text.slice(at + removed);
	});

/** A changed number as a count or an index. */
export function natural(value: number): number {
	const count = Math.abs(Math.trunc(Number(value)));
	return Number.isFinite(count) ? count : 0;
}

/** A case as bytes: each character is one. */
export function bytesOf(text: string): Buffer<ArrayBuffer> {
	return Buffer.from(text, "latin1");
}

/** JSON in UTF-8, valid or not, as {@link bytesOf} reads it. */
export const jsonBytes: fc.Arbitrary<string> = fc.oneof(
	{ weight: 3, arbitrary: jsonText.map((text) => Buffer.from(text).toString("latin1")) },
	{ weight: 2, arbitrary: brokenJson.map((text) => Buffer.from(text).toString("latin1")) },
	{ weight: 1, arbitrary: brokenJson },
);

/** What JSON Schema says of a value, and values beside it. */
export type AnySchema = Readonly<Record<string, any>>;

/** Values that fit a schema, nearly fit it, or do not; for `depth` more levels. */
export function fromSchema(schema: AnySchema, depth = 4): fc.Arbitrary<Case> {
	return fc.oneof(
		{ weight: 8, arbitrary: fitting(schema, depth) },
		{ weight: 1, arbitrary: fc.oneof(jsonValue, oddText) },
	);
}

function fitting(schema: AnySchema, depth: number): fc.Arbitrary<Case> {
	if (schema["const"] !== undefined) return fc.constant(schema["const"] as Case);
	if (schema["enum"]) return fc.constantFrom(...(schema["enum"] as Case[]));
	const examples = (schema["examples"] ?? []) as Case[];
	const branches = (schema["oneOf"] ?? schema["anyOf"]) as AnySchema[] | undefined;
	if (branches) return fc.oneof(...branches.map((branch) => fitting(branch, depth)));
	const type: string = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
	const typed = ofType(type, schema, depth);
	return examples.length === 0 ? typed : fc.oneof(typed, fc.constantFrom(...examples));
}

function ofType(type: string, schema: AnySchema, depth: number): fc.Arbitrary<Case> {
	switch (type) {
		case "integer":
		case "number":
			return numberIn(schema);
		case "boolean":
			return fc.boolean();
		case "array":
			return depth === 0 ? fc.constant([]) : fc.array(fromSchema(schema["items"] ?? {}, depth - 1), { maxLength: 3 });
		case "object":
			return depth === 0 ? fc.constant({}) : objectOf(schema, depth - 1);
		case "string":
			return textOf(schema);
		default:
			return jsonValue;
	}
}

function numberIn(schema: AnySchema): fc.Arbitrary<number> {
	const low = Number(schema["minimum"] ?? schema["exclusiveMinimum"] ?? 0);
	const high = Number(schema["maximum"] ?? low + 1000);
	return fc.constantFrom(low, low + 1, low - 1, high, high + 1, Math.round((low + high) / 2), low + 0.5);
}

function textOf(schema: AnySchema): fc.Arbitrary<string> {
	if (schema["format"] === "uri")
		return fc.constantFrom("http://127.0.0.1:9/x", "https://localhost/", "ftp://a.test", "http://x/\u0000", "http://");
	if (schema["format"] === "origin")
		return fc.constantFrom("https://a.test", "http://a.test:1/", "a.test", "null", "app://x");
	const longest = Number(schema["maxLength"] ?? 40);
	return fc.oneof(
		oddText,
		fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/),
		fc.constantFrom(longest, longest + 1).map((length) => "é".repeat(Math.min(length, 9000))),
	);
}

function objectOf(schema: AnySchema, depth: number): fc.Arbitrary<Case> {
	const members = Object.entries((schema["properties"] ?? {}) as Record<string, AnySchema>);
	const others = typeof schema["additionalProperties"] === "object" ? schema["additionalProperties"] : {};
	const known = fc.record(
		Object.fromEntries(
			members.map(([name, member]) => [
				name,
				fc.oneof({ weight: 12, arbitrary: fromSchema(member, depth) }, { weight: 1, arbitrary: fc.constant(null) }),
			]),
		),
		{ requiredKeys: [] },
	);
	const required = ((schema["required"] ?? []) as string[]).filter((name) => schema["properties"]?.[name]);
	const needed = fc.record(
		Object.fromEntries(required.map((name) => [name, fromSchema(schema["properties"][name], depth)])),
	);
	const unknown = fc.dictionary(oddText, fromSchema(others, depth), {
		maxKeys: members.length > 0 ? 1 : 3,
	});
	return fc
		.tuple(
			known,
			fc.oneof({ weight: 9, arbitrary: needed }, { weight: 1, arbitrary: fc.constant({}) }),
			fc.oneof({ weight: members.length > 0 ? 8 : 1, arbitrary: fc.constant({}) }, { weight: 2, arbitrary: unknown }),
		)
		.map((parts) => Object.fromEntries(parts.flatMap((part) => Object.entries(part))) as Case);
}
