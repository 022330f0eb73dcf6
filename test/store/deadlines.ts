/** Cases: deadlines hold without the sweeper, retention, and outages (D15, D9, D16). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, LEASE, RECORD, RETAIN, siteOf, T0, TIMEOUT, TTL } from "./site.ts";

export function deadlineCases({ store, open }: Bed): void {
	it("D15: get › a lapsed wait shows as TIMED_OUT from its moment on, with a sentence", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		expect(await site.state(id, T0 + TTL - 1)).toBe("IN_QUEUE");
		const shown = await site.get(id, T0 + TTL + 5);
		expect(shown).toMatchObject({
			job: { state: "TIMED_OUT", endedAt: T0 + TTL, dueAt: T0 + TTL + RETAIN },
		});
		expect(shown?.error).toContain(`${TTL} ms`);
		await site.settle(T0 + TTL + 5);
		expect(await site.get(id, T0 + TTL + 5)).toEqual(shown);
	});

	it("D15: get › an overrun shows as TIMED_OUT, and the progress value is removed", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ leaseMs: 600_000 });
		await store().jobs.progress({ endpoint: site.endpoint, id, worker: "w1", value: "1", now: T0 });
		const shown = await site.get(id, T0 + TIMEOUT);
		expect(shown).toMatchObject({
			job: { state: "TIMED_OUT", endedAt: T0 + TIMEOUT, worker: "w1" },
		});
		expect(shown?.output).toBeUndefined();
		expect(shown?.error).toContain(`${TIMEOUT} ms`);
		await site.settle(T0 + TIMEOUT);
		expect(await site.get(id, T0 + TIMEOUT)).toEqual(shown);
	});

	it("D15: report › after the deadline comes too late", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ leaseMs: 600_000 });
		expect(await site.report(id, { output: "1", now: T0 + TIMEOUT })).toEqual({
			ok: false,
			why: "stale",
			state: "TIMED_OUT",
		});
		const intime = await site.running({ leaseMs: 600_000 });
		expect(await site.report(intime.id, { now: T0 + TIMEOUT - 1 })).toMatchObject({ ok: true });
	});

	it("D15: move › cancel and retry see the settled state", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		expect(await site.move(id, "cancel", { now: T0 + TTL })).toEqual({
			ok: false,
			why: "state",
			state: "TIMED_OUT",
		});
		const other = await site.add();
		expect(await site.move(other.id, "retry", { now: T0 + TTL })).toMatchObject({
			ok: true,
			job: { state: "IN_QUEUE", queuedAt: T0 + TTL },
		});
	});

	it("D16: a lease that ends brings the job back; three losses fail it with the history", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		let now = T0;
		for (const worker of ["wa", "wb", "wc"]) {
			expect(await site.takeIds({ worker, now })).toEqual([id]);
			expect(await site.state(id, now + LEASE - 1)).toBe("IN_PROGRESS");
			now += LEASE;
		}
		const shown = await site.get(id, now);
		expect(shown).toMatchObject({ job: { state: "FAILED", losses: 3, returns: 2, worker: "wc" } });
		for (const worker of ["wa", "wb", "wc"]) expect(shown?.error).toContain(worker);
		await site.settle(now);
		expect(await site.get(id, now)).toEqual(shown);
		expect(await site.counts(now)).toMatchObject({
			failed: 1,
			retried: 2,
			inQueue: 0,
			inProgress: 0,
		});
	});

	it("D9: a result expires at its moment, for every method; the record is forgotten later", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.report(id, { on: "fail", output: "1", error: "no" });
		expect(await site.get(id, T0 + RETAIN - 1)).toMatchObject({ output: "1" });
		expect(await site.get(id, T0 + RETAIN)).toBeUndefined();
		expect(await site.move(id, "retry", { now: T0 + RETAIN })).toEqual({
			ok: false,
			why: "missing",
		});
		expect(await site.report(id, { now: T0 + RETAIN })).toMatchObject({
			ok: false,
			why: "missing",
		});
		expect(
			await store().chunks.read({
				endpoint: site.endpoint,
				id,
				from: 0,
				maxBytes: 9,
				now: T0 + RETAIN,
			}),
		).toBeUndefined();
		expect(await site.counts(T0 + RETAIN)).toMatchObject({ failed: 1 });
	});

	it("settle › in due order up to the limit, and reports when the next is due", () =>
		alone(open, async (site) => {
			expect(await site.settle(T0)).toEqual({ settled: 0 });
			const late = await site.add({ ttlMs: 30_000 });
			const soon = await site.add({ ttlMs: 10_000 });
			const next = await site.add({ ttlMs: 20_000 });
			expect(await site.settle(T0)).toEqual({ settled: 0, nextDueAt: T0 + 10_000 });
			const signals: string[] = [];
			site.store.onSignal((signal) => signals.push(signal.kind === "settled" ? signal.id : signal.kind));
			expect(await site.settle(T0 + 30_000, 2)).toEqual({ settled: 2, nextDueAt: T0 + 30_000 });
			expect(await site.settle(T0 + 30_000, 2)).toEqual({
				settled: 1,
				nextDueAt: T0 + 10_000 + RETAIN,
			});
			expect(signals).toEqual([soon.id, next.id, late.id]);
		}));

	it("D9: settle › expires results and forgets records, totals stay", () =>
		alone(open, async (site) => {
			const { id } = await site.running();
			await site.move(id, "lose", { attempt: 1 });
			await site.takeIds({ worker: "w2" });
			await site.report(id, { worker: "w2", output: "1" });
			expect(await site.settle(T0 + RETAIN)).toEqual({ settled: 1, nextDueAt: T0 + RECORD });
			expect(await site.get(id, T0)).toBeUndefined();
			expect(await site.attempts(id)).toHaveLength(1);
			expect(await site.settle(T0 + RECORD)).toEqual({ settled: 1 });
			expect(await site.attempts(id)).toEqual([]);
			expect(await site.counts(T0 + RECORD)).toEqual({
				inQueue: 0,
				inProgress: 0,
				completed: 1,
				failed: 0,
				retried: 1,
			});
		}));

	it("a job can pass through several deadlines at once", () =>
		alone(open, async (site) => {
			const { id } = await site.add({ ttlMs: 10_000, retainMs: 0, recordMs: 0 });
			expect(await site.settle(T0 + 10_000)).toEqual({ settled: 1 });
			expect(await site.attempts(id)).toEqual([]);
			expect(await site.counts(T0 + 10_000)).toMatchObject({ inQueue: 0, failed: 1 });
		}));

	it("D16: extendAll › after an outage live work is not lost, and missed pings are forgotten", () =>
		alone(open, async (site) => {
			const short = await site.running();
			const long = await site.running({ leaseMs: 300_000, executionTimeoutMs: 600_000 });
			const cancelled = await site.running();
			await site.move(cancelled.id, "cancel");
			await site.ping([], { handedBefore: T0 + 1 });
			const afterLease = T0 + LEASE + 5000;
			await site.store.jobs.extendAll({ now: afterLease });
			expect(await site.get(short.id, afterLease)).toMatchObject({
				job: { state: "IN_PROGRESS", leaseUntil: afterLease + LEASE, missed: 0 },
			});
			expect((await site.get(long.id, afterLease))?.job.leaseUntil).toBe(afterLease + 300_000);
			expect(await site.attempts(cancelled.id)).toMatchObject([{ open: true, missed: 0 }]);
			expect(await site.ping([], { handedBefore: T0 + 1, now: afterLease })).toEqual({
				lost: [],
				over: [],
			});
			expect(await site.state(short.id, T0 + TIMEOUT)).toBe("TIMED_OUT");
		}));

	it("D16: extendAll › whatever is asked after it finds it done, though no caller waits for its answer", () =>
		alone(open, async (site) => {
			const jobs = [await site.running(), await site.running({ worker: "w2" }), await site.running({ worker: "w3" })];
			const afterLease = T0 + LEASE + 5000;
			const [, shown, settled, taken, pinged, moved] = await Promise.all([
				site.store.jobs.extendAll({ now: afterLease }),
				site.state(jobs[0]!.id, afterLease),
				site.settle(afterLease),
				site.takeIds({ worker: "w4", limit: 9, now: afterLease }),
				site.ping([jobs[1]!.id], { worker: "w2", now: afterLease }),
				site.report(jobs[2]!.id, { worker: "w3", now: afterLease }),
			]);
			expect([shown, settled.settled, taken, pinged, moved.ok]).toEqual([
				"IN_PROGRESS",
				0,
				[],
				{ lost: [], over: [] },
				true,
			]);
			expect(await site.counts(afterLease)).toMatchObject({
				inQueue: 0,
				inProgress: 2,
				completed: 1,
				retried: 0,
			});
		}));

	it("running › all jobs that run, of all endpoints", () =>
		alone(open, async (site) => {
			const other = siteOf(site.store);
			const one = await site.running();
			const two = await other.running({ worker: "w9", now: T0 + 1 });
			const done = await site.running();
			await site.report(done.id);
			await site.add();
			const running = await site.store.jobs.running();
			expect(running.toSorted((a, b) => a.startedAt - b.startedAt)).toEqual([
				{ endpoint: site.endpoint, id: one.id, worker: "w1", attempt: 1, startedAt: T0 },
				{ endpoint: other.endpoint, id: two.id, worker: "w9", attempt: 1, startedAt: T0 + 1 },
			]);
		}));
}
