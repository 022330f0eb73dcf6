/** How many workers are wanted: cases, what holds for every sample, and what holds over time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { desiredWorkers, leastWorkers, type Sample, type ScaleRule } from "./autoscaling.ts";

const NOTHING: Sample = {
	waiting: 0,
	oldestWaitMs: 0,
	inProgress: 0,
	busy: 0,
	busyLow: 0,
	idle: 0,
	idleFresh: 0,
	starting: 0,
	idleTooLong: 0,
	pendingTooLong: 0,
	stopping: 0,
	sinceStartMs: Infinity,
};
const DELAY: ScaleRule = {
	workersMin: 0,
	workersMax: 3,
	scalerType: "QUEUE_DELAY",
	scalerValue: 4,
};
const COUNT: ScaleRule = { ...DELAY, scalerType: "REQUEST_COUNT" };

describe("desiredWorkers", () => {
	it.each<[string, Partial<Sample>, number]>([
		["nothing to do", {}, 0],
		["the first job waits: the first worker at once", { waiting: 1 }, 1],
		["many wait: still one", { waiting: 100 }, 1],
		["a job waits and one is on its way", { waiting: 1, starting: 1 }, 1],
		["a job waits and one is free", { waiting: 1, idle: 1 }, 1],
		["jobs wait as long as allowed", { waiting: 9, oldestWaitMs: 4000, busy: 2 }, 2],
		["jobs wait longer", { waiting: 9, oldestWaitMs: 4001, busy: 2 }, 3],
		[
			"jobs wait longer, but a worker was started since",
			{ waiting: 9, oldestWaitMs: 9000, busy: 1, starting: 1, sinceStartMs: 4000 },
			2,
		],
		[
			"jobs wait longer, and the last start is as long ago",
			{ waiting: 9, oldestWaitMs: 9000, busy: 1, starting: 1, sinceStartMs: 4001 },
			3,
		],
		["one is on its way for each job that waits", { waiting: 1, oldestWaitMs: 9000, starting: 1 }, 1],
		["one is about to take what waits", { waiting: 1, oldestWaitMs: 60_000, idle: 1, idleFresh: 1 }, 1],
		["the free one does not take what waits", { waiting: 1, oldestWaitMs: 4001, idle: 1 }, 2],
		["jobs wait longer at the maximum", { waiting: 9, oldestWaitMs: 9000, busy: 3 }, 3],
		["one idled too long", { idle: 2, idleTooLong: 1 }, 1],
		["all idled too long", { idle: 3, idleTooLong: 3 }, 0],
		["one idled too long while jobs wait", { waiting: 1, idle: 1, idleTooLong: 1 }, 1],
		["one idled too long while another works: it stays warm", { busy: 1, idle: 1, idleTooLong: 1 }, 2],
		["two idled too long while another works: one stays warm", { busy: 1, idle: 2, idleTooLong: 2 }, 2],
		["idle, but not too long", { idle: 2 }, 2],
		["one is not run by its platform, and nothing waits", { starting: 2, pendingTooLong: 1 }, 1],
		["one is not run by its platform, and a job waits", { waiting: 1, starting: 1, pendingTooLong: 1 }, 1],
		["more busy than the maximum", { busy: 5 }, 5],
		["more than the maximum, some of them idle", { busy: 2, idle: 3 }, 3],
		["one on its way out takes a place", { waiting: 1, stopping: 3 }, 0],
		["one on its way out leaves place", { waiting: 1, stopping: 2 }, 1],
		["a stopping one stops no other", { busy: 2, idle: 1, stopping: 3 }, 3],
	])("D27: QUEUE_DELAY: %s", (_, seen, wanted) => {
		expect(desiredWorkers({ ...NOTHING, ...seen }, DELAY)).toBe(wanted);
	});

	it.each<[string, Partial<Sample>, number]>([
		["nothing to do", {}, 0],
		["one job", { waiting: 1 }, 1],
		["as many as one worker is for", { waiting: 4 }, 1],
		["one more", { waiting: 5 }, 2],
		["waiting and running ones together", { waiting: 3, inProgress: 6, busy: 2 }, 3],
		["beyond the maximum", { waiting: 100 }, 3],
		["those that run low-priority jobs are no help", { waiting: 1, busy: 1, busyLow: 1 }, 2],
		["more than needed, not idle for long", { idle: 3 }, 3],
		["more than needed, idle too long", { idle: 3, idleTooLong: 2 }, 1],
	])("D27: REQUEST_COUNT: %s", (_, seen, wanted) => {
		expect(desiredWorkers({ ...NOTHING, ...seen }, COUNT)).toBe(wanted);
	});

	it("D27: the minimum stands also when nothing waits", () => {
		const rule = { ...DELAY, workersMin: 2 };
		expect(desiredWorkers(NOTHING, rule)).toBe(2);
		expect(desiredWorkers({ ...NOTHING, idle: 3, idleTooLong: 3 }, rule)).toBe(2);
	});

	const samples = fc
		.record({
			waiting: fc.nat(2000),
			wait: fc.nat(100_000),
			inProgress: fc.nat(40),
			busy: fc.nat(20),
			low: fc.nat(20),
			idle: fc.nat(20),
			starting: fc.nat(20),
			tooLong: fc.nat(20),
			pending: fc.nat(20),
			fresh: fc.nat(20),
			stopping: fc.nat(5),
			sinceStartMs: fc.oneof(fc.nat(100_000), fc.constant(Infinity)),
		})
		.map(
			({ tooLong, pending, low, wait, fresh, ...seen }): Sample => ({
				...seen,
				idleFresh: Math.min(fresh, seen.idle),
				oldestWaitMs: seen.waiting > 0 ? wait : 0,
				busyLow: Math.min(low, seen.busy),
				idleTooLong: Math.min(tooLong, seen.idle),
				pendingTooLong: Math.min(pending, seen.starting),
			}),
		);
	const rules = fc
		.record({
			min: fc.nat(10),
			more: fc.nat(10),
			scalerType: fc.constantFrom("QUEUE_DELAY" as const, "REQUEST_COUNT" as const),
			scalerValue: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.double({ min: 0.5, max: 20, noNaN: true })),
		})
		.map(({ min, more, ...rest }): ScaleRule => ({ workersMin: min, workersMax: min + more, ...rest }));
	const presentIn = ({ busy, idle, starting }: Sample): number => busy + idle + starting;

	it("D27, D28: never below the minimum or the busy, never above the maximum unless more are busy", () => {
		fc.assert(
			fc.property(samples, rules, (seen, rule) => {
				const wanted = desiredWorkers(seen, rule);
				expect(wanted).toBeGreaterThanOrEqual(
					Math.max(seen.busy, Math.min(rule.workersMin, Math.max(presentIn(seen), rule.workersMax - seen.stopping))),
				);
				expect(wanted).toBeLessThanOrEqual(Math.max(rule.workersMax, seen.busy));
				if (wanted > presentIn(seen)) expect(wanted + seen.stopping).toBeLessThanOrEqual(rule.workersMax);
			}),
		);
	});

	it("D27: grows with the queue and with the wait", () => {
		fc.assert(
			fc.property(samples, rules, fc.nat(100), fc.nat(10_000), (seen, rule, jobs, ms) => {
				const longer = {
					...seen,
					waiting: seen.waiting + jobs,
					oldestWaitMs: seen.waiting + jobs > 0 ? seen.oldestWaitMs + ms : 0,
				};
				expect(desiredWorkers(longer, rule)).toBeGreaterThanOrEqual(desiredWorkers(seen, rule));
			}),
		);
	});

	it("D20: jobs of low priority start none beyond the minimum", () => {
		fc.assert(
			fc.property(samples, rules, (seen, rule) => {
				const low = { ...seen, waiting: 0, oldestWaitMs: 0, inProgress: 0, busyLow: seen.busy };
				expect(desiredWorkers(low, rule)).toBeLessThanOrEqual(Math.max(presentIn(low), rule.workersMin));
			}),
		);
	});

	it.each<[min: number, max: number, wanted: number, least: number]>([
		[0, 3, 0, 0],
		[0, 3, 1, 1],
		[2, 3, 1, 2],
		[0, 3, 9, 3],
		[0, 0, 1, 0],
	])("D57: at least the minimum and what is wanted, at most the maximum: %i to %i, %i wanted: %i", (...each) => {
		const [workersMin, workersMax, wanted, least] = each;
		expect(leastWorkers({ ...DELAY, workersMin, workersMax }, wanted)).toBe(least);
	});

	it("D57: workers that are wanted add to those that jobs need only what these lack", () => {
		fc.assert(
			fc.property(samples, rules, fc.nat(25), (seen, rule, wanted) => {
				const least = leastWorkers(rule, wanted);
				const needed = desiredWorkers(seen, rule);
				const kept = desiredWorkers(seen, { ...rule, workersMin: least });
				expect(kept).toBeGreaterThanOrEqual(needed);
				expect(kept).toBeLessThanOrEqual(Math.max(needed, least));
				expect(kept).toBeGreaterThanOrEqual(
					Math.min(least, Math.max(presentIn(seen), rule.workersMax - seen.stopping)),
				);
			}),
		);
	});

	it("D27: zero, or the minimum, when nothing waits, nothing runs and all idle too long", () => {
		fc.assert(
			fc.property(fc.nat(20), rules, (idle, rule) => {
				expect(desiredWorkers({ ...NOTHING, idle, idleTooLong: idle }, rule)).toBe(
					Math.min(Math.max(rule.workersMin, 0), rule.workersMax),
				);
			}),
		);
	});

	it("D27: while something waits, no worker is stopped but those above the maximum", () => {
		fc.assert(
			fc.property(samples, rules, (seen, rule) => {
				fc.pre(seen.waiting > 0);
				expect(desiredWorkers(seen, rule)).toBeGreaterThanOrEqual(Math.min(presentIn(seen), rule.workersMax));
			}),
		);
	});
});

/** One worker of the model: when it was started, when it is ready, until when it works. */
interface Modelled {
	startedAt: number;
	readyAt: number;
	busyUntil: number;
}

/**
 * Runs an endpoint second by second: jobs arrive, the longest waiting go to idle workers, one check
 * a second. Returns each check.
 */
function run(q: {
	rule: ScaleRule;
	idleTimeout: number;
	coldMs: number;
	arrivals: readonly { at: number; ms: number }[];
	untilMs: number;
	look: (facts: { now: number; workers: readonly Modelled[]; stopped: readonly Modelled[]; waiting: number }) => void;
}): void {
	const { rule } = q;
	const queue: { at: number; ms: number }[] = [];
	const arrivals = q.arrivals.toSorted((a, b) => a.at - b.at);
	let workers: Modelled[] = [];
	let lastStart = -Infinity;
	for (let now = 0; now <= q.untilMs; now += 1000) {
		while (arrivals[0] && arrivals[0].at <= now) queue.push(arrivals.shift()!);
		const idleNow = (): Modelled[] => workers.filter((worker) => worker.readyAt <= now && worker.busyUntil <= now);
		for (const worker of idleNow()) {
			const job = queue.shift();
			if (job) worker.busyUntil = now + job.ms;
		}
		const idle = idleNow();
		const tooLong = idle
			.filter((worker) => now - Math.max(worker.readyAt, worker.busyUntil) >= q.idleTimeout * 1000)
			.toSorted((a, b) => Math.max(a.readyAt, a.busyUntil) - Math.max(b.readyAt, b.busyUntil));
		const starting = workers.filter((worker) => worker.readyAt > now).length;
		const busy = workers.length - idle.length - starting;
		const wanted = desiredWorkers(
			{
				waiting: queue.length,
				oldestWaitMs: queue[0] ? now - queue[0].at : 0,
				inProgress: busy,
				busy,
				busyLow: 0,
				idle: idle.length,
				idleFresh: idle.length,
				starting,
				idleTooLong: tooLong.length,
				pendingTooLong: 0,
				stopping: 0,
				sinceStartMs: now - lastStart,
			},
			rule,
		);
		const stopped = tooLong.slice(0, Math.max(0, workers.length - wanted));
		expect(workers.length - stopped.length, "nobody but who idled too long goes").toBe(
			Math.min(workers.length, wanted),
		);
		workers = workers.filter((worker) => !stopped.includes(worker));
		for (let count = workers.length; count < wanted; count += 1) {
			workers.push({ startedAt: now, readyAt: now + q.coldMs, busyUntil: 0 });
			lastStart = now;
		}
		q.look({ now, workers, stopped, waiting: queue.length });
	}
}

describe("over time", () => {
	const worlds = fc.record({
		rule: fc
			.record({
				workersMin: fc.nat(2),
				more: fc.integer({ min: 1, max: 6 }),
				scalerType: fc.constantFrom("QUEUE_DELAY" as const, "REQUEST_COUNT" as const),
				scalerValue: fc.integer({ min: 1, max: 8 }),
			})
			.map(({ more, ...rest }): ScaleRule => ({ ...rest, workersMax: rest.workersMin + more })),
		idleTimeout: fc.integer({ min: 1, max: 30 }),
		coldMs: fc.nat(20_000),
		arrivals: fc.array(fc.record({ at: fc.nat(120_000), ms: fc.nat(15_000) }), { maxLength: 60 }),
	});

	it("D27: no stop within idleTimeout of a start or a last job; the bounds hold at every check", () => {
		fc.assert(
			fc.property(worlds, (world) => {
				run({
					...world,
					untilMs: 300_000,
					look({ now, workers, stopped }) {
						for (const worker of stopped)
							expect(now - Math.max(worker.readyAt, worker.busyUntil)).toBeGreaterThanOrEqual(world.idleTimeout * 1000);
						expect(workers.length).toBeGreaterThanOrEqual(world.rule.workersMin);
						expect(workers.length).toBeLessThanOrEqual(world.rule.workersMax);
					},
				});
			}),
		);
	});

	it("D27: every job is taken in the end, and then only the minimum stays", () => {
		fc.assert(
			fc.property(worlds, (world) => {
				let last = { workers: -1, waiting: -1 };
				run({
					...world,
					untilMs: 1_500_000,
					look: ({ workers, waiting }) => (last = { workers: workers.length, waiting }),
				});
				expect(last).toEqual({ workers: world.rule.workersMin, waiting: 0 });
			}),
			{ numRuns: 50 },
		);
	});
});
