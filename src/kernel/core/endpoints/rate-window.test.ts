/**
 * The sliding window against a naive model: never more than N in any 10 s, never fewer than could
 * be.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WINDOW_MS, rateWindow } from "./rate-window.ts";

const START = 1_800_000_000_000;

describe("rateWindow", () => {
	it("D24: a request counts for 10 s from its moment on, and not at the end of it", () => {
		const window = rateWindow();
		expect(window.used(START)).toBe(0);
		window.add(START);
		expect(window.used(START)).toBe(1);
		expect(window.used(START + WINDOW_MS - 1)).toBe(1);
		expect(window.used(START + WINDOW_MS)).toBe(0);
	});

	it("D24: the wait is exact to the millisecond, for a lowered limit too", () => {
		const window = rateWindow();
		for (const after of [0, 10, 25]) window.add(START + after);
		expect([4, 3, 2, 1].map((limit) => window.wait(limit, START + 30))).toEqual([
			0,
			WINDOW_MS - 30,
			WINDOW_MS - 20,
			WINDOW_MS - 5,
		]);
		expect(window.wait(0, START + 30)).toBe(WINDOW_MS);
		expect([1, 0].map((limit) => rateWindow().wait(limit, START))).toEqual([0, WINDOW_MS]);
	});

	it("D24: at most N in any 10 s, and a caller that waits that long is admitted", () => {
		const step = fc.oneof(
			{ weight: 30, arbitrary: fc.integer({ min: 0, max: 400 }) },
			fc.integer({ min: 0, max: 3000 }),
			fc.integer({ min: 9_990, max: 10_010 }),
			fc.constant("as returned" as const),
		);
		fc.assert(
			fc.property(
				fc.integer({ min: 1, max: 60 }),
				fc.array(step, { minLength: 1, maxLength: 250, size: "max" }),
				(limit, steps) => {
					const window = rateWindow();
					let now = START;
					const admitted: number[] = [];
					for (const by of steps) {
						now += by === "as returned" ? window.wait(limit, now) : by;
						const inWindow = admitted.filter((at) => at > now - WINDOW_MS).length;
						expect(window.used(now)).toBe(inWindow);
						expect(window.wait(limit, now) === 0).toBe(inWindow < limit);
						const moments = window.moments(now).flatMap(([at, requests]) => Array.from({ length: requests }, () => at));
						expect(moments).toEqual(admitted.slice(admitted.length - inWindow));
						if (by === "as returned") expect(inWindow).toBeLessThan(limit);
						if (inWindow >= limit) continue;
						window.add(now);
						admitted.push(now);
					}
					for (const [index, at] of admitted.entries())
						expect(at - (admitted[index - limit] ?? -Infinity)).toBeGreaterThanOrEqual(WINDOW_MS);
				},
			),
		);
	});

	it("D24: a clock that goes backwards shuts no caller out for more than 10 s, and lets no more through", () => {
		fc.assert(
			fc.property(
				fc.integer({ min: 1, max: 5 }),
				fc.array(fc.integer({ min: -100_000, max: 6_000 }), { minLength: 1, maxLength: 60 }),
				(limit, steps) => {
					const window = rateWindow();
					let [now, elapsed] = [START, 0];
					const admitted: number[] = [];
					for (const by of steps) {
						now += by;
						// What passed between two reads around a step backwards is unknown: nothing is the
						// safe guess.
						elapsed += Math.max(0, by);
						const inWindow = admitted.filter((at) => at > elapsed - WINDOW_MS).length;
						expect(window.used(now)).toBe(inWindow);
						expect(window.wait(limit, now)).toBeLessThanOrEqual(WINDOW_MS);
						if (inWindow >= limit) continue;
						window.add(now);
						admitted.push(elapsed);
					}
				},
			),
		);
	});

	it("D24: requests that were added together leave together; moments keep their age when the clock goes back", () => {
		const window = rateWindow();
		window.add(START, 40);
		window.add(START + 10);
		expect(window.wait(40, START + 10)).toBe(WINDOW_MS - 10);
		expect(window.moments(START + 20)).toEqual([
			[START, 40],
			[START + 10, 1],
		]);
		expect(window.moments(START - 480)).toEqual([
			[START - 500, 40],
			[START - 490, 1],
		]);
	});

	it("D24: holds the largest burst of section 8, repeatedly", () => {
		const window = rateWindow();
		for (let round = 0; round < 3; round += 1) {
			const from = START + round * WINDOW_MS;
			for (let index = 0; index < 2000; index += 1) {
				expect(window.used(from + index)).toBe(round === 0 ? index : 1999);
				window.add(from + index);
			}
		}
	});
});
