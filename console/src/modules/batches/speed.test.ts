import { describe, expect, it } from "vitest";
import { type Reading, speedOf, withReading } from "./speed.ts";

const readings = (...all: [seconds: number, ended: number][]): Reading[] =>
	all.map(([seconds, ended]) => ({ at: seconds * 1000, ended }));

const after = (...all: [seconds: number, ended: number][]): readonly Reading[] =>
	readings(...all).reduce<readonly Reading[]>(withReading, []);

describe("the speed of a batch", () => {
	it("is that between the first reading and the last, and says how long the rest takes", () => {
		expect(speedOf(readings([10, 100], [15, 130], [20, 200]), 1200)).toEqual({ perMs: 0.01, leftMs: 100_000 });
		expect(speedOf(readings([10, 100], [20, 200]), 200)).toEqual({ perMs: 0.01, leftMs: 0 });
	});

	it("is unknown until two readings are 5 s apart", () => {
		expect([[], readings([10, 1]), readings([10, 1], [14.999, 9])].map((each) => speedOf(each, 9))).toEqual(
			Array.from({ length: 3 }),
		);
		expect(speedOf(readings([10, 1], [15, 1]), 9)).toEqual({ perMs: 0, leftMs: undefined });
	});

	it("is that of the last minute, or since the last reading before a pause", () => {
		expect(after([0, 0], [30, 3], [61, 6], [90, 9])).toEqual(readings([30, 3], [61, 6], [90, 9]));
		expect(after([0, 0], [30, 3], [300, 30])).toEqual(readings([30, 3], [300, 30]));
	});
});
