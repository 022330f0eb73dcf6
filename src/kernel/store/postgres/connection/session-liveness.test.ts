/** When a server that sends no sign of life counts as dead (D7 Delivery). */
import { expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import { openSessionLiveness } from "./session-liveness.ts";

it("D7: a session is over when missed again after 1 s, not when back in between or unchecked for long", async () => {
	const clock = manualClock();
	const absences = openSessionLiveness(clock);
	expect(absences.isOver(1, true)).toBe(false);
	expect(await absences.settled()).toBe(false);

	expect(absences.isOver(1, false)).toBe(false);
	await clock.advance(999);
	expect(absences.isOver(1, false)).toBe(false);
	await clock.advance(1);
	expect(absences.isOver(1, false)).toBe(true);
	expect(await absences.settled()).toBe(false);

	expect(absences.isOver(2, false)).toBe(false);
	const settled = absences.settled();
	await clock.advance(1000);
	expect(await settled).toBe(true);
	expect(absences.isOver(2, true)).toBe(false);
	expect(absences.isOver(2, false)).toBe(false);

	expect(absences.isOver(3, false)).toBe(false);
	await clock.advance(6000);
	expect(absences.isOver(3, false)).toBe(false);
});
