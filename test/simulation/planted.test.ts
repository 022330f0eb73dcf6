/** The simulation finds what is planted in its servers, and makes the schedule smaller. */
import { describe, expect, it } from "vitest";
import { PLANTED } from "./planted.ts";
import { scheduleOf } from "./schedule.ts";
import { search } from "./search.ts";

/** Schedules in which each planted bug is found. */
const SCHEDULES = 500;

describe("a planted bug is found: a server that", () => {
	it.each(PLANTED)("$what", { timeout: 60_000 }, async ({ rules, plant, seed = 1 }) => {
		const { failure } = await search({ seed, schedules: SCHEDULES, plant, tries: 0 });
		const broken = failure?.violations.map(({ rule }) => rule) ?? [];
		expect(rules).toEqual(expect.arrayContaining([broken[0]]));
	});
});

it("a schedule that fails is made smaller, and still fails", { timeout: 60_000 }, async () => {
	const { rules, plant } = PLANTED.find(({ what }) => what.includes("idempotency keys"))!;
	const { failure } = await search({ seed: 1, schedules: SCHEDULES, plant, tries: 60 });
	const { seed, shrunk, shrunkViolations } = failure!;
	expect(scheduleOf(seed).jobs.length).toBeGreaterThan(3);
	expect(shrunk.jobs.length).toBe(1);
	expect(shrunk.participants.length).toBe(1);
	expect(rules).toContain(shrunkViolations[0]?.rule);
});
