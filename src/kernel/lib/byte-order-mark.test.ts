import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MarkFilter, withoutMark } from "./byte-order-mark.ts";

/** The bytes after the filter, cut into pieces at these places. */
function filtered(bytes: Buffer, cuts: readonly number[]): Buffer {
	const filter = new MarkFilter();
	const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
	let start = 0;
	const parts: Buffer[] = [];
	for (const end of ends) {
		parts.push(filter.push(bytes.subarray(start, end)));
		start = end;
	}
	return Buffer.concat([...parts, filter.end()]);
}

describe("a byte order mark", () => {
	it("D4: is dropped before a text, wherever it is cut; all else stays", () => {
		const begins = ["", "\ufeff", "\ufeff\ufeff", "é", "\uffff"].map((text) => Buffer.from(text));
		fc.assert(
			fc.property(
				fc.constantFrom(...begins, Buffer.from([0xef]), Buffer.from([0xef, 0xbb])),
				fc.string({ maxLength: 4 }),
				fc.array(fc.nat(6), { maxLength: 4 }),
				(begin, rest, cuts) => {
					const bytes = Buffer.concat([begin, Buffer.from(rest)]);
					const mark = bytes.subarray(0, 3).equals(Buffer.from("\ufeff"));
					expect(filtered(bytes, cuts)).toEqual(mark ? bytes.subarray(3) : bytes);
				},
			),
		);
	});

	it("D4: is dropped once before a string", () => {
		expect([withoutMark("\ufeff{}"), withoutMark("{}"), withoutMark("{}\ufeff")]).toEqual(["{}", "{}", "{}\ufeff"]);
	});
});
