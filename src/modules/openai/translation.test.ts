import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringOf } from "../../kernel/lib/json/json-text.ts";
import { elementsOf, openaiInput, outputOf, resultAsChunks, singleResult } from "./translation.ts";

/** Runs all steps. */
function finished<T>(steps: Generator<unknown, T>): T {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}

/** In blocks that cut anywhere. */
function inBlocks(text: string, size: number): Uint8Array[] {
	const bytes = new TextEncoder().encode(text);
	return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size));
}

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
		expect(elementsOf('[ 1.0 ,{"a":[1,2],"b":"],"}, "x\\"],[" ,[],12345678901234567890 ]')).toEqual([
			"1.0",
			'{"a":[1,2],"b":"],"}',
			'"x\\"],["',
			"[]",
			"12345678901234567890",
		]);
		for (const text of ["[]", "[ \n ]"]) expect(elementsOf(text)).toEqual([]);
		for (const text of ["{}", '"[1]"', "1", "null"]) expect(elementsOf(text)).toBeUndefined();
	});

	it("any array, printed in any way, is what its elements are", () => {
		fc.assert(
			fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), (list, space) => {
				expect(elementsOf(JSON.stringify(list, undefined, space))?.map((text) => JSON.parse(text) as unknown)).toEqual(
					JSON.parse(JSON.stringify(list)),
				);
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
		expect(finished(singleResult(output))).toBe(body);
		const blocks = finished(singleResult(output && [new TextEncoder().encode(output)]));
		expect(blocks === undefined ? blocks : stringOf(blocks).trim()).toBe(body);
	});
});

describe("a large result in blocks", () => {
	it("D32: has the same elements as its text, however the blocks cut it", () => {
		fc.assert(
			fc.property(
				fc.array(fc.jsonValue()),
				fc.constantFrom(undefined, 1, "\t"),
				fc.integer({ min: 1, max: 40 }),
				(list, space, size) => {
					const text = JSON.stringify(list, undefined, space);
					const blocks = inBlocks(text, size);
					expect([...resultAsChunks(blocks)].filter((each) => each !== undefined)).toEqual(elementsOf(text));
					const single = finished(singleResult(blocks));
					const expected = list.length > 1 ? text : elementsOf(text)![0];
					expect(single === undefined ? single : stringOf(single).trim()).toBe(expected);
				},
			),
		);
	});

	it.each(["a text", "the only text of a list"])("D41: %s is cut into short ones", (kind) => {
		const text = 'é😀"\\\n'.repeat(200_000);
		const output = kind === "a text" ? text : [text];
		const pieces = [...resultAsChunks(inBlocks(JSON.stringify(output), 262_144))].flatMap((each) => each ?? []);
		expect(pieces.length).toBeGreaterThan(5);
		for (const piece of pieces) expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(262_144);
		expect(pieces.map((piece) => JSON.parse(piece) as string).join("")).toBe(text);
	});

	it("D41: is searched in slices of one block", () => {
		const blocks = inBlocks(`[${JSON.stringify("x".repeat(10_000))}]`, 1000);
		expect([...resultAsChunks(blocks)].filter((each) => each === undefined)).toHaveLength(10);
	});
});

describe("outputOf", () => {
	it("D5: cuts the output out of a stored chunk unchanged", () => {
		for (const output of ['"é\\u00e9 "', '{"output": 1.0}', "12345678901234567890", "null"])
			expect(outputOf(`{"output":${output},"metrics":{"output":"é"}}`)).toBe(output);
	});
});
