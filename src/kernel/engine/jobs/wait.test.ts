/** Waiting for a job: which callers are notified, and when a wait ends without word. */
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { newJob } from "../../core/jobs/job.ts";
import type { JobResult } from "../../core/jobs/job-view.ts";
import { type Caller, CompletionWaiters } from "./wait.ts";

function result(id: string): JobResult {
	return {
		job: newJob(
			{
				id,
				endpoint: "ep",
				operation: "run",
				lowPriority: false,
				ttlMs: 1,
				executionTimeoutMs: 1,
				leaseMs: 1,
				retainMs: 1,
				recordMs: 1,
			},
			0,
		),
	};
}

function sample() {
	const clock = manualClock();
	const waits = new CompletionWaiters(clock);
	const caller = (): Caller => ({ disconnected: false });
	const log: string[] = [];
	const end = (id: string, ms: number, of = caller()) => {
		const wait = waits.forEnd({ endpoint: "ep", id, ms, caller: of });
		void wait.result.then((found) => log.push(`${id}/${ms} ${found ? "ended" : "lapsed"}`));
		return wait;
	};
	return { clock, waits, caller, log, end };
}

describe("waiting", () => {
	it("D8: everyone who waits for the end of a job gets its result, others do not", async () => {
		const { clock, waits, caller } = sample();
		const mine = [1000, 2000, 3000].map((ms) => waits.forEnd({ endpoint: "ep", id: "a", ms, caller: caller() }));
		const other = waits.forEnd({ endpoint: "ep", id: "b", ms: 5000, caller: caller() });
		const ended = result("a");
		waits.jobEnded(ended);
		for (const wait of mine) expect(await wait.result).toBe(ended);
		await clock.advance(5000);
		expect(await other.result).toBeUndefined();
	});

	it("D8: each wait ends exactly at its own time, in whatever order they began", async () => {
		const { clock, log, end } = sample();
		for (const ms of [3000, 1000, 2000, 1000]) end("a", ms);
		await clock.advance(999);
		expect(log).toEqual([]);
		await clock.advance(1);
		expect(log).toEqual(["a/1000 lapsed", "a/1000 lapsed"]);
		await clock.advance(1000);
		expect(log).toHaveLength(3);
		await clock.advance(1000);
		expect(log).toEqual(["a/1000 lapsed", "a/1000 lapsed", "a/2000 lapsed", "a/3000 lapsed"]);
	});

	it("D8: a job that is not stored yet is asked for nowhere: that it is not found must end no wait", () => {
		const { waits, caller } = sample();
		const early = waits.forEnd({
			endpoint: "ep",
			id: "a",
			ms: 1000,
			caller: caller(),
			early: true,
		});
		waits.forEnd({ endpoint: "ep", id: "b", ms: 1000, caller: caller() });
		const asked = (): unknown[] => [
			waits.awaitedAt("ep"),
			waits.awaitedJobs().map(({ id }) => id),
			waits.isAwaited("a"),
		];
		expect(asked()).toEqual([["b"], ["b"], true]);
		early.stored();
		expect(asked()).toEqual([["a", "b"], ["a", "b"], true]);
	});

	it("D8: a caller that hangs up ends its own wait alone", async () => {
		const { clock, waits, caller, log, end } = sample();
		const leaving = caller();
		end("a", 1000, leaving);
		end("a", 2000);
		leaving.onDisconnect?.();
		await clock.advance(0);
		expect(log).toEqual(["a/1000 lapsed"]);
		waits.jobEnded(result("a"));
		await clock.advance(0);
		expect(log).toEqual(["a/1000 lapsed", "a/2000 ended"]);
		expect(leaving.onDisconnect).toBeUndefined();
	});

	it("a caller that hung up, and a wait of no time, end at once", async () => {
		const { waits, caller } = sample();
		expect(
			await waits.forEnd({ endpoint: "ep", id: "a", ms: 1000, caller: { disconnected: true } }).result,
		).toBeUndefined();
		expect(await waits.forNews({ endpoint: "ep", id: "a", ms: 0, caller: caller() }).result).toBe(false);
		expect(waits.isAwaited("a")).toBe(false);
	});

	it("D7: news wakes those who wait for news; the end wakes both kinds", async () => {
		const { clock, waits, caller, log, end } = sample();
		end("a", 9000);
		const news = waits.forNews({ endpoint: "ep", id: "a", ms: 9000, caller: caller() });
		waits.notify("b");
		waits.notify("a");
		expect(await news.result).toBe(true);
		await clock.advance(0);
		expect(log).toEqual([]);
		const second = waits.forNews({ endpoint: "ep", id: "a", ms: 9000, caller: caller() });
		waits.jobEnded(result("a"));
		expect(await second.result).toBe(true);
		await clock.advance(0);
		expect(log).toEqual(["a/9000 ended"]);
	});

	it("awaited returns those who wait for the end, not of those who wait for news", () => {
		const { waits, caller, end } = sample();
		waits.forNews({ endpoint: "ep", id: "a", ms: 9000, caller: caller() });
		expect(waits.isAwaited("a")).toBe(false);
		const wait = end("a", 9000);
		expect(waits.isAwaited("a")).toBe(true);
		wait.leave();
		expect(waits.isAwaited("a")).toBe(false);
	});

	it("leaving early ends the wait; what comes later changes nothing", async () => {
		const { clock, waits, log, end } = sample();
		const wait = end("a", 1000);
		wait.leave();
		wait.leave();
		waits.jobEnded(result("a"));
		await clock.advance(2000);
		expect(log).toEqual(["a/1000 lapsed"]);
	});

	it("D34: sent home, all waits end at once and later ones do not begin", async () => {
		const { clock, waits, caller, log, end } = sample();
		end("a", 1000);
		end("b", 90_000);
		const news = waits.forNews({ endpoint: "ep", id: "c", ms: 5000, caller: caller() });
		waits.cancelAll();
		expect(await news.result).toBe(false);
		await clock.advance(0);
		expect(log).toEqual(["a/1000 lapsed", "b/90000 lapsed"]);
		end("d", 1000);
		await clock.advance(0);
		expect(log).toContain("d/1000 lapsed");
	});

	it("a shorter wait that begins later ends first, and the longer one still ends in time", async () => {
		const { clock, log, end } = sample();
		end("a", 5000);
		await clock.advance(1000);
		end("b", 500);
		await clock.advance(500);
		expect(log).toEqual(["b/500 lapsed"]);
		await clock.advance(3500);
		expect(log).toEqual(["b/500 lapsed", "a/5000 lapsed"]);
	});
});
