/**
 * Cases: purging a queue (D11). What was purged is missing at once; its rows go later, and nothing
 * may see the difference.
 */
import { expect, it } from "vitest";
import type { Signal } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { alone, LEASE, type Site, siteOf, T0, TTL } from "./site.ts";

/** A queue of three waiting jobs that was purged, their rows still there. */
async function purgedSite(store: Site["store"]): Promise<{ site: Site; ids: string[] }> {
	const site = siteOf(store);
	const jobs = [await site.add(), await site.add({ lowPriority: true }), await site.add()];
	expect(await site.purge()).toBe(3);
	return { site, ids: jobs.map(({ id }) => id) };
}

export function purgeCases({ store, open }: Bed): void {
	it("D11: waiting jobs are missing to every method, and counted once", async () => {
		const { site, ids } = await purgedSite(store());
		const { endpoint } = site;
		expect(await site.purge()).toBe(0);
		for (const id of ids) {
			expect(await site.get(id)).toBeUndefined();
			expect(await site.record(id)).toBeUndefined();
			expect(await site.retain(id, 5)).toBeUndefined();
			expect(await site.attempts(id)).toEqual([]);
			for (const on of ["cancel", "retry"] as const)
				expect(await site.move(id, on)).toEqual({ ok: false, why: "missing" });
			expect(await site.report(id)).toEqual({ ok: false, why: "missing" });
			expect(await store().chunks.read({ endpoint, id, from: 0, maxBytes: 9, now: T0 })).toBeUndefined();
			expect(await store().chunks.reserve({ endpoint, id, reader: "r", maxBytes: 9, now: T0 })).toBeUndefined();
		}
		expect(await site.take({ limit: 9 })).toEqual({ jobs: [], fenced: false });
		expect(await site.listIds({ erased: true })).toEqual([]);
		expect(await site.listIds({ states: ["IN_QUEUE"] })).toEqual([]);
		expect(await site.cancelAll()).toEqual({ cancelled: 0, left: false });
		expect(await site.counts()).toEqual({
			inQueue: 0,
			inProgress: 0,
			completed: 0,
			failed: 0,
			retried: 0,
		});
		expect(await site.waiting()).toEqual({ jobs: 0 });
	});

	it("D11: jobs that run or have ended are untouched, and so are other endpoints", async () => {
		const site = siteOf(store());
		const other = siteOf(store());
		const there = await other.add();
		const done = await site.running();
		await site.report(done.id, { output: "1" });
		const running = await site.running();
		await site.add();
		expect(await site.purge()).toBe(1);
		expect(await site.report(running.id, { output: "2" })).toMatchObject({ ok: true });
		expect([(await site.get(done.id))?.output, (await site.get(running.id))?.output]).toEqual(["1", "2"]);
		expect(await other.takeIds()).toEqual([there.id]);
	});

	it("D11: a queue without jobs, and an unknown endpoint, give 0", async () => {
		const site = siteOf(store());
		expect(await site.purge()).toBe(0);
		await site.running();
		expect(await site.purge()).toBe(0);
	});

	it("D11: jobs added later are handed out in order, also by a second purge's side", async () => {
		const { site } = await purgedSite(store());
		const first = await site.add({ now: T0 + 5 });
		const low = await site.add({ lowPriority: true });
		const second = await site.add({ now: T0 + 6 });
		expect(await site.waiting(T0 + 9)).toEqual({ jobs: 2, oldestQueuedAt: T0 + 5 });
		expect(await site.counts()).toMatchObject({ inQueue: 3 });
		expect(await site.listIds({ limit: 1 })).toEqual([second.id, low.id, first.id]);
		expect(await site.takeIds({ limit: 1 })).toEqual([first.id]);
		expect(await site.purge()).toBe(2);
		expect(await site.get(second.id)).toBeUndefined();
		expect(await site.get(first.id)).toBeDefined();
		const third = await site.add();
		expect(await site.takeIds({ limit: 9 })).toEqual([third.id]);
	});

	it("D11: a running job that comes back, and one that is retried, wait as usual", async () => {
		const site = siteOf(store());
		const failed = await site.running();
		await site.report(failed.id, { on: "fail" });
		const running = await site.running();
		await site.add();
		await site.purge();
		await site.move(running.id, "release", { attempt: 1, over: true, now: T0 + 3 });
		await site.move(failed.id, "retry", { now: T0 + 4 });
		expect(await site.waiting(T0 + 4)).toEqual({ jobs: 2, oldestQueuedAt: T0 + 3 });
		expect(await site.listIds()).toEqual([running.id, failed.id]);
		expect(await site.takeIds({ limit: 9, now: T0 + 4 })).toEqual([running.id, failed.id]);
	});

	it("D11: a job that came back is purged like any other", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.move(id, "lose", { attempt: 1 });
		expect(await site.take()).toEqual({ jobs: [], fenced: true });
		expect(await site.purge()).toBe(1);
		expect(await site.take()).toEqual({ jobs: [], fenced: false });
		expect(await site.report(id)).toEqual({ ok: false, why: "missing" });
		expect(await site.idle({ before: T0 + 1 })).toMatchObject({ lost: [], over: [], keptOpen: [] });
	});

	it("D11: purge against claim, both at once: each job is either handed out or removed", async () => {
		const site = siteOf(store());
		const ids = (await Promise.all(Array.from({ length: 60 }, () => site.add()))).map(({ id }) => id);
		const [taken, removed, later] = await Promise.all([
			site.takeIds({ limit: 20 }),
			site.purge(),
			site.takeIds({ limit: 20, worker: "w2" }),
		]);
		expect(taken.length + later.length + removed).toBe(60);
		for (const id of ids)
			expect(await site.state(id)).toBe([...taken, ...later].includes(id) ? "IN_PROGRESS" : undefined);
		expect(await site.counts()).toMatchObject({
			inQueue: 0,
			inProgress: taken.length + later.length,
		});
	});

	it("D11: submissions in the same turn: those before it are removed, those after it wait", async () => {
		const site = siteOf(store());
		const [before, removed, after, taken] = await Promise.all([
			site.add(),
			site.purge(),
			site.add(),
			site.takeIds({ limit: 9 }),
		]);
		expect(removed).toBe(1);
		expect(await site.get(before.id)).toBeUndefined();
		expect(taken).toEqual([after.id]);
	});

	it("D11: a job that returns in the turn of a purge is handed out, those added before it are not", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const [, removed, , taken] = await Promise.all([
			site.add(),
			site.purge(),
			site.move(id, "release", { attempt: 1, over: true }),
			site.takeIds({ limit: 9 }),
		]);
		expect(removed).toBe(1);
		expect(taken).toEqual([id]);
	});

	it("D11, D15: jobs that had lapsed are TIMED_OUT, not purged", async () => {
		const site = siteOf(store());
		const lapsed = await site.add({ ttlMs: 10_000 });
		await site.add();
		expect(await site.purge(T0 + 10_000)).toBe(1);
		expect(await site.state(lapsed.id, T0 + 10_000)).toBe("TIMED_OUT");
		expect(await site.counts(T0 + 10_000)).toMatchObject({ inQueue: 0, failed: 1 });
	});

	it("D11, D15: what was purged never lapses", async () => {
		const { site, ids } = await purgedSite(store());
		for (const now of [T0 + TTL, T0 + TTL * 2]) {
			expect(await site.counts(now)).toMatchObject({ inQueue: 0, failed: 0 });
			expect(await site.listIds({ erased: true, now })).toEqual([]);
			expect(await site.get(ids[0] ?? "", now)).toBeUndefined();
		}
	});

	it("D11, D15: what was purged never lapses, also when it is more than one call settles", () =>
		alone(open, async (site) => {
			await Promise.all(Array.from({ length: 1500 }, () => site.add()));
			await site.purge();
			expect(await site.counts(T0 + TTL)).toMatchObject({ inQueue: 0, failed: 0 });
			expect(await site.list({ states: ["TIMED_OUT"], now: T0 + TTL })).toEqual({ jobs: [] });
		}));

	it("D11, D21: no webhook for them", () =>
		alone(open, async (site) => {
			await site.add({ webhook: "https://example.org/hook" });
			await site.purge();
			await site.settle(T0 + TTL);
			expect(await site.store.webhooks.list({ limit: 9 })).toEqual({ deliveries: [] });
		}));

	it("D11: signals that the queue was purged, if anything was", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const signals: Signal[] = [];
		const stop = store().onSignal((signal) => signals.push(signal));
		await site.purge();
		await site.add();
		await site.purge();
		stop();
		expect(signals).toEqual([{ kind: "purged", endpoint }]);
	});

	it("D11: settle › removes the rows some at a time, and reports that it is due until none is left", () =>
		alone(open, async (site) => {
			for (let n = 0; n < 5; n += 1) await site.add();
			await site.purge();
			const { id } = await site.running({ leaseMs: LEASE });
			for (let round = 0; round < 2; round += 1)
				expect(await site.settle(T0 + 1, 2)).toEqual({ settled: 0, nextDueAt: T0 + 1 });
			expect(await site.settle(T0 + 1, 2)).toEqual({ settled: 0, nextDueAt: T0 + LEASE });
			await site.move(id, "release", { attempt: 1, over: true });
			const last = await site.add();
			expect(await site.takeIds({ limit: 9 })).toEqual([id, last.id]);
		}));

	it("D11: settle › several purged queues share its limit", () =>
		alone(open, async (site) => {
			const other = siteOf(site.store);
			for (const { add, purge } of [site, other]) {
				await add();
				await add();
				await purge();
			}
			expect(await site.settle(T0, 3)).toEqual({ settled: 0, nextDueAt: T0 });
			expect(await site.settle(T0, 3)).toEqual({ settled: 0 });
		}));

	it("D11: settle › deadlines of others are met while rows are removed", () =>
		alone(open, async (site) => {
			for (let n = 0; n < 20; n += 1) await site.add({ ttlMs: 10_000 });
			await site.purge();
			const { id } = await site.add({ ttlMs: 10_000 });
			for (let round = 0; round < 30 && (await site.settle(T0 + 10_000, 2)).nextDueAt === T0 + 10_000; round += 1)
				expect(await site.counts(T0 + 10_000)).toMatchObject({ inQueue: 0, failed: 1 });
			expect(await site.state(id, T0 + 10_000)).toBe("TIMED_OUT");
			expect(await site.settle(T0 + 10_000)).toEqual({
				settled: 0,
				nextDueAt: T0 + 10_000 + 1_000_000,
			});
		}));

	it("D11: 20,000 jobs are purged in one step", () =>
		alone(open, async (site) => {
			await Promise.all(Array.from({ length: 20_000 }, (_, n) => site.insert({ lowPriority: n % 7 === 0 })));
			expect(await site.purge()).toBe(20_000);
			expect(await site.counts()).toMatchObject({ inQueue: 0 });
			const { id } = await site.add();
			expect(await site.takeIds({ limit: 9 })).toEqual([id]);
			expect((await site.list()).jobs.map(({ job }) => job.id)).toEqual([id]);
		}));
}
