/** The verdict of a soak finds planted growth, and none in series that restart, jump or vary. */
import { describe, expect, it } from "vitest";
import { random } from "../torture/plan.ts";
import { type Bound, flatness, type Point } from "./flatness.ts";

const BOUND: Bound = { percent: 10, least: 2 };
const HOUR = 3600;

/** Points every 5 s of an hour around 100, with noise of 5 to each side. */
function series(of: (at: number) => Partial<Point> & { value: number }, seconds = HOUR): Point[] {
	const next = random(1);
	return Array.from({ length: seconds / 5 }, (_, n) => {
		const point = of(n * 5);
		return { at: n * 5, ...point, value: point.value + (next() - 0.5) * 10 };
	});
}

describe("a series that", () => {
	it("grows by a third in an hour grows", () => {
		const found = flatness(
			series((at) => ({ value: 100 + (33 * at) / HOUR })),
			BOUND,
		);
		expect(found.verdict).toBe("grows");
		expect(found.percentPerHour).toBeGreaterThan(22);
		expect(found.percentPerHour).toBeLessThan(34);
		expect(found.low).toBeGreaterThan(10);
		expect(found.last! - found.first!).toBeGreaterThan(8);
	});

	it.each<[string, (at: number) => { value: number; life?: number }]>([
		["varies", () => ({ value: 100 })],
		["falls", (at) => ({ value: 200 - (100 * at) / HOUR })],
		["grew in its first half", (at) => ({ value: Math.min(100, at / 18) })],
		["has spikes at its end", (at) => ({ value: at > 3000 && at % 50 === 0 ? 1000 : 100 })],
		[
			"begins again, lower, and warms up",
			(at) => ({ value: 100 - 60 * Math.exp(-(at % 1800) / 120), life: Math.floor(at / 1800) }),
		],
		["has a larger process after a restart", (at) => ({ value: at < 2400 ? 50 : 100, life: Math.floor(at / 2400) })],
	])("%s is flat", (_, of) => {
		expect(flatness(series(of), BOUND).verdict).toBe("flat");
	});

	it("leaks in each of its lives grows, though it ends where it began", () => {
		const points = series((at) => ({ value: 100 + (at % 1200) / 40, life: Math.floor(at / 1200) }));
		expect(flatness(points, BOUND).verdict).toBe("grows");
	});

	it("grows by less than the bound in its unit is flat", () => {
		const points = Array.from({ length: 720 }, (_, n) => ({ at: n * 5, value: 4 + n / 720 }));
		expect(flatness(points, BOUND)).toMatchObject({ verdict: "flat" });
		expect(flatness(points, { percent: 10, least: 0.5 })).toMatchObject({ verdict: "grows" });
	});

	it("has few points is not judged", () => {
		expect(flatness([], BOUND)).toEqual({ verdict: "too short" });
		expect(
			flatness(
				series(() => ({ value: 100 }), 300),
				BOUND,
			),
		).toEqual({ verdict: "too short" });
	});
});
