/** A slice of `npm run simulate`. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSimulatedDatabase, type SimulatedDatabase } from "./database.ts";
import { scheduleOf } from "./schedule.ts";
import { runOnce, search } from "./search.ts";

/** Of the slice, ms. */
const SLICE_MS = 3000;

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

it("D27: a worker whose start could not be stored counts for workersMax until it has ended", async () => {
	const { failure, restarts } = await search({ seed: 63, schedules: 1 });
	expect(failure?.violations ?? []).toEqual([]);
	expect(restarts).toBeGreaterThan(0);
});

it("D7: a late repeat of a chunk is not stored under the next attempt of its worker", async () => {
	const { failure, acknowledged } = await search({ seed: 1096, schedules: 1 });
	expect(failure?.violations ?? []).toEqual([]);
	expect(acknowledged).toBeGreaterThan(0);
});

it("D27, D50: a rollout goes on where it was after the stop of an idle worker was refused", async () => {
	const { failure, happened } = await search({ seed: 900_114, schedules: 1 });
	expect(failure?.violations ?? []).toEqual([]);
	expect(happened["release.healthy"]).toBeGreaterThan(0);
});

it("D54: a returned job seems to run while a claim of it has no answer from a store that fails", async () => {
	const { failure, acknowledged } = await search({ seed: 900_664, schedules: 1 });
	expect(failure?.violations ?? []).toEqual([]);
	expect(acknowledged).toBeGreaterThan(0);
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
