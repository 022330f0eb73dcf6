import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { elementsOf, openaiInput, outputOf, singleResult } from "./openai.ts";

describe("openaiInput", () => {
	it("D32, D5: the body's text stands in the input as it came; without a body there is no openai_input", () => {
		expect(openaiInput("/v1/chat/completions", '{ "seed": 12345678901234567890, "t": 1.0 }')).toBe(
			'{"openai_route":"/v1/chat/completions","openai_input":{ "seed": 12345678901234567890, "t": 1.0 }}',
		);
		expect(openaiInput('/a"b', undefined)).toBe('{"openai_route":"/a\\"b"}');
	});
});

describe("elementsOf", () => {
	it("gives the texts of the elements as they stand", () => {
		expect(elementsOf('[ 1.0 ,{"a":[1,2],"b":"],"}, "x\\"],[" ,[],12345678901234567890 ]')).toEqual(
			["1.0", '{"a":[1,2],"b":"],"}', '"x\\"],["', "[]", "12345678901234567890"],
		);
		for (const text of ["[]", "[ \n ]"]) expect(elementsOf(text)).toEqual([]);
		for (const text of ["{}", '"[1]"', "1", "null"]) expect(elementsOf(text)).toBeUndefined();
	});

	it("any array, printed in any way, is what its elements are", () => {
		fc.assert(
			fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), (list, space) => {
				expect(
					elementsOf(JSON.stringify(list, undefined, space))?.map(
						(text) => JSON.parse(text) as unknown,
					),
				).toEqual(JSON.parse(JSON.stringify(list)));
			}),
		);
	});

	it("a string of millions of characters does not exhaust anything", () => {
		const long = JSON.stringify('\\"'.repeat(2_000_000));
		expect(elementsOf(`[${long}]`)).toEqual([long]);
	});
});

describe("singleResult", () => {
	it.each([
		['[{"a":1.0}]', '{"a":1.0}'],
		['{"a":1.0}', '{"a":1.0}'],
		['"text"', '"text"'],
		["[1,2]", "[1,2]"],
		["[[1]]", "[1]"],
		["[]", undefined],
		[undefined, undefined],
	])("D32: of %j the body is %j", (output, body) => {
		expect(singleResult(output)).toBe(body);
		expect(singleResult(output && [new TextEncoder().encode(output)])).toBe(body);
	});
});

describe("outputOf", () => {
	it("D5: cuts the output out of a stored chunk unchanged", () => {
		for (const output of ['"é\\u00e9 "', '{"output": 1.0}', "12345678901234567890", "null"])
			expect(outputOf(`{"output":${output},"metrics":{"output":"é"}}`)).toBe(output);
	});
});
