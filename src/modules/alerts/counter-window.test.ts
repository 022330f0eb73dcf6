import { expect, it } from "vitest";
import { CounterWindow } from "./counter-window.ts";

it("D53: growth within the window; what was counted before the first reading is no growth, later counters are", () => {
	const window = new CounterWindow(1000);
	const grown = (now: number, values: Record<string, number>) =>
		Object.fromEntries(window.grown(Object.entries(values), now));
	expect(grown(0, { a: 7 })).toEqual({ a: 0 });
	expect(grown(100, { a: 8, b: 2 })).toEqual({ a: 1, b: 2 });
	expect(grown(1000, { a: 10, b: 2 })).toEqual({ a: 3, b: 2 });
	// What grew at 100 is no longer within the window at 1200.
	expect(grown(1200, { a: 10, b: 2 })).toEqual({ a: 2, b: 0 });
	expect(grown(1300, { a: 1, b: 2 })).toEqual({ a: 1, b: 0 });
	expect(grown(1400, { b: 2 })).toEqual({ b: 0 });
	expect(grown(1500, { a: 5, b: 2 })).toEqual({ a: 5, b: 0 });
});
