/** A slice of `npm run simulate`, and that it finds what is planted. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSimulatedDatabase, type SimulatedDatabase } from "./database.ts";
import { PLANTED } from "./planted.ts";
import { scheduleOf } from "./schedule.ts";
import { runOnce, search } from "./search.ts";

/** Of the slice, ms. */
const SLICE_MS = 3000;

/** Schedules in which each planted bug is found. */
const SCHEDULES = 500;

let database: SimulatedDatabase;
beforeAll(async () => {
	database = await openSimulatedDatabase();
});
afterAll(() => database.close());

it("D17: no schedule of crashes, pauses, lost messages and failing disks breaks a rule", {
	timeout: 60_000,
}, async () => {
	const { failure, ...counts } = await search({ seed: 1, ms: SLICE_MS });
	process.stdout.write(`${counts.schedules} schedules, ${counts.acknowledged} jobs\n`);
	expect(failure?.violations ?? []).toEqual([]);
	expect(counts.acknowledged).toBeGreaterThan(counts.schedules);
});

it("a seed has one history", async () => {
	for (const seed of [3, 11, 12]) {
		const schedule = scheduleOf(seed);
		const first = await runOnce(database, schedule);
		const second = await runOnce(database, schedule);
		expect(second.history).toEqual(first.history);
		expect(second.events).toBe(first.events);
		expect(first.history.length).toBeGreaterThan(10);
	}
});

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
