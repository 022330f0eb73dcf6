import { describe, expect, it } from "vitest";
import { exactNumber, kindOf, pretty, readExact } from "./exact.ts";

describe("JSON as it was written", () => {
	it("D5: numbers that JavaScript would change come out as they were", () => {
		const text = '{"id":12345678901234567890,"ratio":1.0,"small":1e-7,"plain":42}';
		const value = readExact(text) as Record<string, unknown>;
		expect(JSON.stringify(value)).toBe(text);
		expect(exactNumber(value["id"])).toBe("12345678901234567890");
		expect(value["plain"]).toBe(42);
	});

	it("returns the kind of a value", () => {
		expect(["[1]", "{}", "null", '"a"', "1", "1.0", "true"].map((text) => kindOf(readExact(text)))).toEqual([
			"array",
			"object",
			"null",
			"string",
			"number",
			"number",
			"boolean",
		]);
		expect(pretty(readExact('{"a":[1.0]}'))).toBe('{\n  "a": [\n    1.0\n  ]\n}');
	});
});
