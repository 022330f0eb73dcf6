/**
 * The script of the Go SDK decodes as strictly as Go's `encoding/json` (protocol A.5, A.10).
 */
import { describe, expect, it } from "vitest";
import { marshal, unmarshal } from "./go-json.ts";

describe("decoding", () => {
	const SHAPE = {
		n: "int",
		s: "string",
		any: "any",
		stream: "items",
		inner: { n: "int" },
	} as const;

	it.each<[string, object]>([
		['{"n":1,"s":"x","any":1.5,"inner":{"n":-2},"other":{"n":1.5}}', { n: 1, s: "x", any: 1.5, inner: { n: -2 } }],
		['{"n":null,"s":null,"inner":null}', {}],
		['{"N":9007199254740991,"S":""}', { n: 9_007_199_254_740_991, s: "" }],
		['{"n":-9223372036854775808}', { n: Number.MIN_SAFE_INTEGER * 1024 - 1024 }],
		['{"stream":[{"output":1},null]}', { stream: [{ output: 1 }, null] }],
	])("A.5: %s is taken", (text, struct) => {
		expect(unmarshal(text, SHAPE)).toEqual(struct);
	});

	it.each([
		'{"n":1.5}',
		'{"n":1.0}',
		'{"n":1e3}',
		'{"n":9223372036854775808}',
		'{"n":-9223372036854775809}',
		'{"n":"1"}',
		'{"s":{}}',
		'{"s":1}',
		'{"inner":{"n":1.0}}',
		'{"inner":[]}',
		'{"stream":[1]}',
		'{"stream":[[]]}',
		'{"stream":{}}',
		"[]",
		'"x"',
		"",
		"<html>",
	])("A.5: %s is refused", (text) => {
		expect(() => unmarshal(text, SHAPE)).toThrow("json decoder error");
	});

	it("A.5: members that a later text lacks stay, null removes them", () => {
		expect(unmarshal('{"n":2,"s":null}', SHAPE, { n: 1, s: "x", any: 3 })).toEqual({
			n: 2,
			any: 3,
		});
		expect(marshal({ a: "<&>" })).toBe('{"a":"\\u003c\\u0026\\u003e"}');
	});
});
