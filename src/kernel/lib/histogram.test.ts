/** Buckets of durations: percentiles within 5 %, sums that add up, bounds that are exact. */
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	addHistogram,
	atMost,
	type Histogram,
	newHistogram,
	observe,
	packHistogram,
	percentiles,
	sizeOfHistogram,
	unpackHistogram,
} from "./histogram.ts";

function of(...durations: number[]): Histogram {
	const made = newHistogram();
	for (const ms of durations) observe(made, ms);
	return made;
}

const DURATIONS = fc.array(fc.integer({ min: 0, max: 2 ** 31 }), { minLength: 1, maxLength: 200 });

it("a percentile is within 5 % of the duration at its place", () => {
	fc.assert(
		fc.property(DURATIONS, fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1), (durations, part) => {
			const exact = durations.toSorted((a, b) => a - b)[Math.ceil(part * durations.length) - 1]!;
			const [estimate] = percentiles(of(...durations), [part])!;
			expect(Math.abs(estimate! - exact)).toBeLessThanOrEqual(Math.max(1, exact * 0.05));
		}),
	);
});

it("two together are as one that saw all, also through text", () => {
	fc.assert(
		fc.property(DURATIONS, DURATIONS, (one, other) => {
			const sum = unpackHistogram(JSON.parse(JSON.stringify(packHistogram(of(...one)))) as number[]);
			addHistogram(sum, of(...other));
			expect(sum).toEqual(of(...one, ...other));
		}),
	);
});

it("bounds at powers of two are exact, and nothing is lost beyond the last bucket", () => {
	const all = of(0, 1, 2, 3, 4, 5, 8, 9, 1024, 1025, Number.MAX_SAFE_INTEGER);
	expect([0, 1, 2, 3, 10].map((power) => atMost(all, power))).toEqual([2, 3, 5, 7, 9]);
	expect(sizeOfHistogram(all)).toBe(11);
	expect(sizeOfHistogram(unpackHistogram(packHistogram(newHistogram())))).toBe(0);
	expect(percentiles(newHistogram(), [0.5])).toBeUndefined();
});
