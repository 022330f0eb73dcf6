/** Ids: their form and their order. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hex, pooled, uuidv7 } from "./ids.ts";

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("ids", () => {
	it("D6: a UUIDv7 holds its moment, its version and its variant, for any moment and randomness", () => {
		fc.assert(
			fc.property(fc.nat(2 ** 48 - 1), fc.uint8Array({ minLength: 10, maxLength: 10 }), (now, bytes) => {
				const id = uuidv7(now, () => bytes.slice());
				expect(id).toMatch(FORM);
				expect(Number.parseInt(id.slice(0, 13).replace("-", ""), 16)).toBe(now);
			}),
		);
	});

	it("D6: all 74 free bits come from the randomness given", () => {
		expect(uuidv7(0, () => new Uint8Array(10).fill(0xff))).toBe("00000000-0000-7fff-bfff-ffffffffffff");
		expect(uuidv7(0, () => new Uint8Array(10))).toBe("00000000-0000-7000-8000-000000000000");
	});

	it("D6: a fraction of a millisecond does not break the form", () => {
		expect(uuidv7(1_800_000_000_000.7, randomBytes)).toMatch(FORM);
	});

	it("D6: a later moment sorts later", () => {
		fc.assert(
			fc.property(
				fc.nat(2 ** 47),
				fc.integer({ min: 1, max: 2 ** 40 }),
				(now, more) => uuidv7(now, randomBytes) < uuidv7(now + more, randomBytes),
			),
		);
	});

	it("pooled randomness gives every byte out once, however it is asked for", () => {
		fc.assert(
			fc.property(fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 1, maxLength: 60 }), (sizes) => {
				const random = pooled((bytes) => new Uint8Array(bytes));
				const given = sizes.map((size) => random(size));
				expect(given.map(({ length }) => length)).toEqual(sizes);
				// A byte given out twice would be marked twice.
				for (const bytes of given) for (let at = 0; at < bytes.length; at += 1) bytes[at]! += 1;
				for (const bytes of given) expect(bytes.every((byte) => byte === 1)).toBe(true);
			}),
		);
	});

	it("hex keeps leading zeros", () => {
		expect(hex(Uint8Array.of(0, 1, 16, 255))).toBe("000110ff");
	});
});
