/** Canaries of releases: when there is one, its shares, and what its jobs say (D50). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newHistogram, observe } from "../../kernel/lib/histogram.ts";
import type { ReleaseJobs } from "../../kernel/core/metrics/metric-buckets.ts";
import { behindAfter, canaryOf, judgeCanary, mayTake } from "./canary.ts";

const RULE = { percent: 10, minJobs: 50, maxMs: 1_800_000, maxSlowdown: 2 };

const jobs = (completed: number, failed: number, runMs: readonly number[] = []): ReleaseJobs => {
	const execution = newHistogram();
	for (const ms of runMs) observe(execution, ms);
	return { completed, failed, execution };
};

type Made = { state?: "unproven" | "healthy" | "failed"; hash?: string; source?: string };
const made = (...each: Made[]) =>
	each.map(({ state = "healthy", hash, source = "api" }, index) => ({
		...{ version: index + 1, launchHash: hash ?? `${index}`, state, failures: 0, source },
	}));

describe("a canary", () => {
	const asked = { release: { canary: RULE }, workersMax: 3 };

	it.each([
		["compares an unproven version with the last healthy one", made({}, { state: "unproven" }), asked, 1],
		["is not asked for", made({}, { state: "unproven" }), { ...asked, release: {} }, undefined],
		["is over once its version is healthy", made({}, {}), asked, undefined],
		["is none of the first version", made({ state: "unproven" }), asked, undefined],
		["is none of a version that goes back", made({}, { state: "unproven", source: "rollback" }), asked, undefined],
		["needs a healthy version", made({ state: "failed" }, { state: "unproven" }), asked, undefined],
		["needs two workers", made({}, { state: "unproven" }), { ...asked, workersMax: 1 }, undefined],
	])("D50: %s", (_, releases, endpoint, stable) => {
		expect(canaryOf(releases, endpoint)?.stable.version).toBe(stable);
	});

	/** Whether the canary took it, of each job in a row. `asks`: whether it asks before the others do. */
	function taken(percent: number, asks: (n: number) => boolean): boolean[] {
		let behind = 0;
		return Array.from({ length: 300 }, (_, n) => {
			const isCanary = asks(n) && mayTake(behind, percent);
			behind = behindAfter(behind, { percent, isCanary });
			return isCanary;
		});
	}
	const countOf = (jobs: readonly boolean[]): number => jobs.filter(Boolean).length;

	it("D50: gets its share of any jobs in a row, within one job, if it always asks", () => {
		for (let percent = 1; percent <= 50; percent += 1) {
			const jobs = taken(percent, () => true);
			for (let n = 1; n <= 300; n += 1)
				expect(Math.abs(countOf(jobs.slice(0, n)) - (percent * n) / 100), `${percent} %`).toBeLessThanOrEqual(1);
		}
	});

	it("D50: gets no more than its share and three jobs of any 100 in a row, whenever it asks", () => {
		const asks = fc.array(fc.boolean(), { minLength: 300, maxLength: 300 });
		fc.assert(
			fc.property(fc.integer({ min: 1, max: 50 }), asks, (percent, asked) => {
				const jobs = taken(percent, (n) => asked[n]!);
				for (let from = 0; from <= 200; from += 1)
					expect(countOf(jobs.slice(from, from + 100))).toBeLessThanOrEqual(percent + 3);
			}),
		);
	});

	it("D50: gets no burst of jobs after it took none", () => {
		expect(countOf(taken(10, (n) => n >= 200).slice(200))).toBe(13);
	});

	it("D50: has its share at once after jobs that only it could take", () => {
		let behind = 0;
		for (let n = 0; n < 100; n += 1) behind = behindAfter(behind, { percent: 10, isCanary: true });
		for (let n = 0; n < 10; n += 1) behind = behindAfter(behind, { percent: 10, isCanary: false });
		expect(mayTake(behind, 10)).toBe(true);
	});
});

/** Numbers from 0 to 1 (mulberry32). */
function seeded(seed: number): () => number {
	let at = seed;
	return () => {
		at = (at + 0x6d2b79f5) | 0;
		let mixed = Math.imul(at ^ (at >>> 15), 1 | at);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

/** Whether the version is undone, checked after each of its jobs; 9 of the other version end for each. */
function isUndone(random: () => number, q: { minJobs: number; ratio: number; stableRatio: number }): boolean {
	const [tried, stable] = [jobs(0, 0), jobs(0, 0)];
	const settle = (of: ReleaseJobs, ratio: number): void => void (of[random() < ratio ? "failed" : "completed"] += 1);
	for (;;) {
		settle(tried, q.ratio);
		for (let n = 0; n < 9; n += 1) settle(stable, q.stableRatio);
		const { result } = judgeCanary({ ...RULE, minJobs: q.minJobs }, { jobs: tried, stable, ranMs: 0 });
		if (result !== "runs") return result === "undo";
	}
}

const undoneOf = (runs: number, q: Parameters<typeof isUndone>[1]): number => {
	const random = seeded(7);
	return Array.from({ length: runs }, () => isUndone(random, q)).filter(Boolean).length / runs;
};

describe("the jobs of a canary", () => {
	it.each([
		{ minJobs: 50, stableRatio: 0.05, ratio: 0.25, least: 0.95 },
		{ minJobs: 200, stableRatio: 0.05, ratio: 0.15, least: 0.8 },
		{ minJobs: 50, stableRatio: 0, ratio: 0.2, least: 0.95 },
	])("D50: of which far more fail undo it: $ratio against $stableRatio of $minJobs jobs", ({ least, ...q }) => {
		expect(undoneOf(1000, q)).toBeGreaterThan(least);
	});

	it.each([0, 0.001, 0.01, 0.05, 0.3])("D50: of which as many fail, %d, undo it in under 5 of 100 cases", (ratio) => {
		for (const minJobs of [20, 50, 200])
			expect(undoneOf(500, { minJobs, stableRatio: ratio, ratio }), `minJobs ${minJobs}`).toBeLessThan(0.05);
	});

	const judged = (tried: ReleaseJobs, stable: ReleaseJobs, q: { ranMs?: number; maxSlowdown?: number } = {}) =>
		judgeCanary({ ...RULE, ...q }, { jobs: tried, stable, ranMs: q.ranMs ?? 0 }).result;

	it("D50: undo it at minJobs if over twice as many fail and 2 of 100 more, and no fewer than 4", () => {
		expect(judged(jobs(44, 6), jobs(95, 5)), "12 % of 12 %").toBe("over");
		expect(judged(jobs(43, 7), jobs(95, 5)), "14 % of 12 %").toBe("undo");
		expect(judged(jobs(47, 3), jobs(100, 0))).toBe("over");
		expect(judged(jobs(46, 4), jobs(100, 0))).toBe("undo");
	});

	it("D50: undo it before that, from 10 jobs on, if three of four fail, and 1.5 times as many as of the others", () => {
		expect(judged(jobs(0, 9), jobs(100, 0))).toBe("runs");
		expect(judged(jobs(2, 8), jobs(100, 0))).toBe("undo");
		expect(judged(jobs(3, 8), jobs(100, 0))).toBe("runs");
		expect(judged(jobs(0, 50), jobs(255, 245)), "100 % of 49 %").toBe("undo");
		expect(judged(jobs(0, 10), jobs(34, 66)), "100 % of 66 %").toBe("undo");
		expect(judged(jobs(0, 10), jobs(33, 67)), "100 % of 67 %").toBe("runs");
		expect(judged(jobs(2, 8), jobs(9, 0)), "nothing to compare with").toBe("undo");
		expect(judged(jobs(0, 500), jobs(0, 9)), "nothing to compare with").toBe("undo");
	});

	it("D50: decide at maxMs with fewer than minJobs, and never with fewer than 10 of either version", () => {
		const late = { ranMs: RULE.maxMs };
		expect(judged(jobs(8, 4), jobs(100, 2))).toBe("runs");
		expect(judged(jobs(8, 4), jobs(100, 2), late)).toBe("undo");
		expect(judged(jobs(10, 0), jobs(10, 0), late)).toBe("over");
		expect(judged(jobs(0, 9), jobs(100, 2), late)).toBe("runs");
		expect(judged(jobs(0, 0), jobs(0, 0), late)).toBe("runs");
		expect(judged(jobs(50, 0), jobs(9, 0), late)).toBe("runs");
	});

	it("D50: undo it at the end when the p95 of their runs is over maxSlowdown times that of the others", () => {
		const runs = (count: number, ms: number, slow = 0): ReleaseJobs =>
			jobs(count, 0, [...Array<number>(count - slow).fill(ms), ...Array<number>(slow).fill(10 * ms)]);
		expect(judged(runs(50, 250), runs(100, 100))).toBe("undo");
		expect(judged(runs(50, 190), runs(100, 100))).toBe("over");
		expect(judged(runs(50, 100, 2), runs(100, 100)), "4 of 100 are slow").toBe("over");
		expect(judged(runs(50, 100, 3), runs(100, 100)), "6 of 100 are slow").toBe("undo");
		expect(judged(runs(49, 250), runs(100, 100))).toBe("runs");
		expect(judged(runs(50, 250), runs(19, 100)), "too few").toBe("over");
		expect(judged(runs(50, 250), runs(100, 100), { maxSlowdown: 0 })).toBe("over");
	});

	it("D50: say why in a sentence", () => {
		const textOf = (tried: ReleaseJobs, stable: ReleaseJobs): string =>
			judgeCanary(RULE, { jobs: tried, stable, ranMs: 0 }).text;
		expect(textOf(jobs(57, 3, [100]), jobs(10, 0))).toBe(
			"3 of 60 jobs failed (5 %), p95 103 ms, against 0 of 10 jobs failed (0 %)",
		);
		expect(textOf(jobs(9, 0), jobs(0, 0))).toBe("not compared yet: 9 of 10 jobs of this version have ended");
		expect(textOf(jobs(60, 0), jobs(3, 0))).toBe("not compared yet: 3 of 10 jobs of the last healthy one have ended");
		expect(textOf(jobs(0, 10), jobs(0, 0))).toBe("10 of 10 jobs failed (100 %), against 0 of 0 jobs failed");
	});
});
