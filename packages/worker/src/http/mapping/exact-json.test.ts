import { describe, expect, it } from "vitest";
import { isLargeInteger, mayHaveLargeIntegers, parseExact } from "./exact-json.ts";

describe("parseExact", () => {
	it("keeps integers above 2^53 as they were written, also negative ones", () => {
		const text = '{"a":9007199254740993,"b":[-12345678901234567890],"c":9007199254740991,"d":1e300,"e":"1"}';
		const value = parseExact(text) as { a: unknown; c: unknown };
		expect([isLargeInteger(value.a), value.c]).toEqual([true, 9_007_199_254_740_991]);
		expect(JSON.stringify(value)).toBe(text);
	});

	it("reads lists of fractions, as embeddings are, the fast way", () => {
		expect(mayHaveLargeIntegers("[0.12345678901234567,-0.98765432109876543]")).toBe(false);
		expect(mayHaveLargeIntegers("9007199254740993")).toBe(true);
	});
});
