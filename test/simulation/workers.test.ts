/** Schedules that broke a rule of workers before its fault was mended. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSimulatedDatabase, type SimulatedDatabase } from "./database.ts";
import type { Needs } from "./machine.ts";
import type { Participants, Schedule } from "./schedule.ts";
import { runOnce } from "./search.ts";

let database: SimulatedDatabase;
beforeAll(async () => {
	database = await openSimulatedDatabase();
});
afterAll(() => database.close());

const NEEDS: Needs = {
	gpus: 0,
	priority: "normal",
	workersMin: 0,
	sleeps: false,
	idleTimeout: 20,
	warmsUp: false,
	maxSurge: 1,
	canary: false,
};

const BULK: Participants = {
	endpoint: "bulk",
	clients: 1,
	workers: 0,
	concurrency: 1,
	crashes: 0,
	launched: 2,
	retentionMs: 86_400_000,
	needs: NEEDS,
};

type Made = Pick<Schedule, "seed"> & {
	needs: Partial<Needs>;
	jobs: number;
	part?: Partial<Participants>;
	/** Begin of each release, and of each crash of the server, ms. */
	releases?: readonly number[];
	crashes?: readonly number[];
};

function scheduleOf({ seed, needs, jobs: count, part, releases = [], crashes = [] }: Made): Schedule {
	const each = { ...BULK, ...part, needs: { ...NEEDS, ...needs } };
	const { endpoint } = each;
	return {
		seed,
		machine: { gpus: 1, memoryGb: 24 },
		participants: [each],
		jobs: Array.from({ length: count }, (_, index) => ({ endpoint, n: index + 1 })),
		releases: releases.map((at, index) => ({ at, endpoint, version: index + 2, isBroken: false })),
		faults: crashes.map((at, index) => ({ at, kind: "crash", ms: 300 + 100 * index, chance: 0 })),
	};
}

it.each<[string, Made]>([
	[
		"D50: with maxSurge 0 the second worker of a version stays until the first is replaced",
		{ seed: 1, needs: { maxSurge: 0, workersMin: 2 }, jobs: 3, releases: [6000] },
	],
	[
		"D50: with maxSurge 0 the second worker of a version stays also while the new one waits in a queue",
		{ seed: 2, needs: { maxSurge: 0, workersMin: 2 }, jobs: 3, releases: [6000, 16_000, 26_000] },
	],
	[
		"D50: a worker of a new version beside the others counts for workersMax, where nothing counts GPUs",
		{
			seed: 2,
			needs: {},
			part: { endpoint: "mixed", launched: 3, clients: 3 },
			jobs: 30,
			releases: [4000, 9000, 15_000],
		},
	],
	[
		"D28, D34: a worker that sleeps gets no job before a server that starts has taken it over",
		{
			seed: 1,
			needs: { sleeps: true, gpus: 1, memoryGb: 7, idleTimeout: 1 },
			part: { endpoint: "mixed", clients: 2 },
			jobs: 14,
			crashes: [7000, 11_000, 15_000, 19_000, 23_000],
		},
	],
])("%s", { timeout: 60_000 }, async (_, made) => {
	const { violations, acknowledged } = await runOnce(database, scheduleOf(made));
	expect(violations).toEqual([]);
	expect(acknowledged).toBeGreaterThan(0);
});
