/** Who makes room for whom: cases, and a simulation of endpoints that share GPUs. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareWaiting, type Priority } from "../../../kernel/core/workers/priority.ts";
import { evictable, type EvictionQuery, type Holder, MIN_STAY_MS, TURN_MS } from "./eviction.ts";
import { firstThatSuffice } from "../../../kernel/core/workers/fewest.ts";

const NOW = 10_000_000;

/** Ready for `readyMs`, after a start of 5 s. */
function holder(worker: string, change: Partial<Holder> & { readyMs?: number } = {}): Holder {
	const { readyMs = TURN_MS, ...rest } = change;
	const readyAt = NOW - readyMs;
	return { worker, endpoint: "b", gpus: [0], readyAt, startingSince: readyAt - 5000, stopping: false, ...rest };
}

function query(q: {
	holders: readonly Holder[];
	priorities?: Record<string, Priority>;
	workersMin?: number;
	needed?: number;
	mayEvict?: boolean;
}): EvictionQuery<Holder> {
	const { holders, priorities = {}, workersMin = 0, needed = 1, mayEvict = true } = q;
	const settingsOf = (id: string) => ({ priority: priorities[id] ?? "normal", workersMin });
	return { endpoint: "a", needed, holders, settingsOf, mayEvict, now: NOW };
}

const idle = { idleSince: NOW - 1000 };
const low = { busyLow: true, readyMs: MIN_STAY_MS };

describe("evictable", () => {
	it.each<[string, Parameters<typeof query>[0], string[]]>([
		["a busy one after its turn", { holders: [holder("w")] }, ["w"]],
		["not within its turn", { holders: [holder("w", { readyMs: TURN_MS - 1 })] }, []],
		[
			"a turn is four times as long as a long start",
			{ holders: [holder("w", { readyMs: 119_999, startingSince: NOW - 119_999 - 30_000 })] },
			[],
		],
		["and then over", { holders: [holder("w", { readyMs: 120_000, startingSince: NOW - 150_000 })] }, ["w"]],
		["not one that starts", { holders: [holder("w", { readyAt: undefined })] }, []],
		["not one that is being stopped", { holders: [holder("w", { stopping: true })] }, []],
		["not one of the same endpoint", { holders: [holder("w", { endpoint: "a" }), holder("v", { endpoint: "a" })] }, []],
		["not of an endpoint with as few GPUs", { holders: [holder("w"), holder("own", { endpoint: "a" })] }, []],
		[
			"not of an endpoint that would have fewer GPUs then",
			{ holders: [holder("w"), holder("v"), holder("own", { endpoint: "a" })] },
			[],
		],
		[
			"of an endpoint that would still have as many",
			{ holders: [holder("w", { gpus: [0, 1, 2] }), holder("own", { endpoint: "a" })] },
			["w"],
		],
		[
			"not for an endpoint that still ends one of its own",
			{ holders: [holder("w"), holder("own", { endpoint: "a", stopping: true })] },
			[],
		],
		["without a job none", { holders: [holder("w"), holder("v", idle)], mayEvict: false }, []],
		[
			"workers without GPUs are shared by their number",
			{ holders: [holder("w", { gpus: [] }), holder("own", { endpoint: "a", gpus: [] })], needed: 0 },
			[],
		],
		["not of a higher priority", { holders: [holder("w")], priorities: { b: "high" } }, []],
		[
			"of a lower priority within its turn",
			{ holders: [holder("w", { readyMs: MIN_STAY_MS })], priorities: { b: "low" } },
			["w"],
		],
		[
			"not within its stay, whatever its priority",
			{ holders: [holder("w", { readyMs: MIN_STAY_MS - 1 })], priorities: { b: "low" } },
			[],
		],
		["an idle one of a higher priority", { holders: [holder("w", idle)], priorities: { b: "high" } }, ["w"]],
		["not one of the minimum", { holders: [holder("w"), holder("v", idle)], workersMin: 2 }, []],
		[
			"one of the minimum of a lower priority",
			{ holders: [holder("w")], workersMin: 1, priorities: { a: "high" } },
			["w"],
		],
		[
			"one with low-priority jobs only within its turn, even of a higher priority",
			{ holders: [holder("w", low), holder("v", { ...low, endpoint: "c" })], priorities: { c: "high" } },
			["w", "v"],
		],
		["not that one within its stay", { holders: [holder("w", { ...low, readyMs: MIN_STAY_MS - 1 })] }, []],
		["not that one of the minimum", { holders: [holder("w", low)], workersMin: 1 }, []],
		["not that one of the same endpoint", { holders: [holder("w", { ...low, endpoint: "a" })] }, []],
		["not that one without a job", { holders: [holder("w", low)], mayEvict: false }, []],
		[
			"that one whatever the asking endpoint has",
			{ holders: [holder("w", low), holder("own", { endpoint: "a" })] },
			["w"],
		],
		[
			"idle before those with low-priority jobs, these before a lower priority",
			{
				holders: [
					holder("lower", { endpoint: "c" }),
					holder("low-jobs", { ...low, endpoint: "d" }),
					holder("idle", { endpoint: "d", ...idle }),
				],
				priorities: { c: "low", d: "high" },
			},
			["idle", "low-jobs", "lower"],
		],
		[
			"idle before busy, low before normal",
			{
				holders: [
					holder("busy"),
					holder("low", { endpoint: "c" }),
					holder("idle", idle),
					holder("idle-low", { endpoint: "c", ...idle }),
				],
				priorities: { c: "low" },
			},
			["idle-low", "idle", "low", "busy"],
		],
	])("D28: %s", (_, q, expected) => {
		expect(evictable(query(q)).map(({ worker }) => worker)).toEqual(expected);
	});
});

it("D28: what becomes free first is that of low-priority jobs, which have no turn", () => {
	const holders = [holder("w", { readyMs: TURN_MS - 5000 }), holder("v", { ...low, readyMs: MIN_STAY_MS - 2000 })];
	expect(evictable(query({ holders }))).toEqual([]);
	expect(evictable(query({ holders }), { later: true }).map(({ worker }) => worker)).toEqual(["v", "w"]);
});

describe("firstThatSuffice", () => {
	it("D28: few trials, none of the chosen ones is needless, and the first of equal ones are chosen", () => {
		fc.assert(
			fc.property(fc.array(fc.nat(5), { maxLength: 200 }), fc.nat(40), (sizes, needed) => {
				let trials = 0;
				const all = sizes.map((size, at) => ({ size, at }));
				const sum = (some: readonly { size: number }[]): number => some.reduce((total, { size }) => total + size, 0);
				const chosen = firstThatSuffice(all, (some) => (trials += 1) > 0 && sum(some) >= needed);
				if (sum(all) < needed || needed === 0) expect(chosen).toEqual([]);
				else for (const one of chosen) expect(sum(chosen) - one.size).toBeLessThan(needed);
				if (chosen.length > 0) expect(sum(chosen)).toBeGreaterThanOrEqual(needed);
				expect(trials).toBeLessThanOrEqual(2 + 3 * (chosen.length + 1) * (1 + Math.ceil(Math.log2(sizes.length + 1))));
			}),
		);
		expect(firstThatSuffice(["a", "b", "c"], ({ length }) => length >= 2)).toEqual(["a", "b"]);
	});
});

describe("compareWaiting", () => {
	it("D28: the higher priority, then who waited longest without a GPU, then the oldest job", () => {
		const order = [
			{ id: "high", priority: "high", oldestQueuedAt: 90, hadGpuAt: 100 },
			{ id: "none", priority: "normal", oldestQueuedAt: 50, hadGpuAt: 0 },
			{ id: "new", priority: "normal", oldestQueuedAt: 100, hadGpuAt: 0 },
			{ id: "flood", priority: "normal", oldestQueuedAt: 1, hadGpuAt: 100 },
			{ id: "flood-2", priority: "normal", oldestQueuedAt: 2, hadGpuAt: 100 },
			{ id: "low", priority: "low", oldestQueuedAt: 0, hadGpuAt: 0 },
		] as const;
		expect(
			order
				.toReversed()
				.toSorted(compareWaiting)
				.map(({ id }) => id),
		).toEqual(order.map(({ id }) => id));
	});
});
