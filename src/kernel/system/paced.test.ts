import { describe, expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { paced } from "./paced.ts";

describe("paced", () => {
	it("runs a burst at once, then once per time for all calls in between, and a burst again after a rest", async () => {
		const clock = manualClock();
		let runs = 0;
		const call = paced(() => (runs += 1), { clock, burst: 3, everyMs: 50 });
		for (let n = 0; n < 100; n += 1) call();
		expect(runs).toBe(3);
		await clock.advance(49);
		expect(runs).toBe(3);
		await clock.advance(1);
		expect(runs, "the call that waited").toBe(4);
		await clock.advance(1000);
		expect(runs, "no call waited").toBe(4);
		for (let n = 0; n < 100; n += 1) call();
		expect(runs).toBe(7);
		for (let n = 0; n < 10; n += 1) {
			call();
			await clock.advance(50);
		}
		expect(runs, "one per 50 ms").toBe(17);
	});
});
