/** Cases: worker records, and what pings and idle takes prove (D16). */
import { expect, it } from "vitest";
import type { WorkerRow } from "../../src/kernel/store/contract/workers.ts";
import type { Bed } from "./index.ts";
import { alone, LEASE, siteOf, T0 } from "./site.ts";

export function workerCases({ store, open }: Bed): void {
	it("put, list and remove keep records as they were given", () =>
		alone(open, async ({ store: fresh }) => {
			const one: WorkerRow = {
				id: "a",
				endpoint: "e",
				launcher: "process",
				handle: '{"pid":1}',
				url: "http://127.0.0.1:1",
				createdAt: T0,
			};
			const two: WorkerRow = { id: "b", endpoint: "e", launcher: "external", createdAt: T0 + 1 };
			await fresh.workers.put(one);
			await fresh.workers.put(two);
			await fresh.workers.put({ ...one, url: "http://127.0.0.1:2" });
			expect(await fresh.workers.list()).toEqual([{ ...one, url: "http://127.0.0.1:2" }, two]);
			await fresh.workers.remove({ id: "a" });
			await fresh.workers.remove({ id: "none" });
			expect(await fresh.workers.list()).toEqual([two]);
		}));

	it("replaceHandle › changes a handle that is as expected, and no other", () =>
		alone(open, async ({ store: { workers } }) => {
			const row: WorkerRow = { id: "a", endpoint: "e", launcher: "process", handle: "{}", createdAt: T0 };
			await workers.put(row);
			await workers.put({ ...row, id: "b", handle: undefined });
			expect(await workers.replaceHandle({ id: "a", from: '{"other":1}', to: "1" })).toBe(false);
			expect(await workers.replaceHandle({ id: "b", from: "{}", to: "1" })).toBe(false);
			expect(await workers.replaceHandle({ id: "none", from: "{}", to: "1" })).toBe(false);
			expect(await workers.replaceHandle({ id: "a", from: "{}", to: '{"pid":1}' })).toBe(true);
			expect((await workers.list()).map(({ handle }) => handle)).toEqual(['{"pid":1}', undefined]);
		}));

	it("D16: ping › renews the leases of the jobs it names", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		expect(await site.ping([id, "no-such-id"], { now: T0 + 15_000 })).toEqual({
			lost: [],
			over: [],
		});
		expect(await site.get(id, T0 + 15_000)).toMatchObject({
			job: { state: "IN_PROGRESS", leaseUntil: T0 + 15_000 + LEASE, missed: 0 },
		});
	});

	it("D16: ping › two in a row without the job take it back, known to be over", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const intervalMs = 1000;
		expect(await site.ping([], { now: T0 + 5000, intervalMs })).toEqual({ lost: [], over: [] });
		// Two processes may use the id: this may be the first ping of the other.
		expect(await site.ping([], { now: T0 + 5100, intervalMs })).toEqual({ lost: [], over: [] });
		expect(await site.ping([], { now: T0 + 8000, intervalMs })).toEqual({ lost: [id], over: [] });
		expect(await site.get(id, T0 + 8000)).toMatchObject({
			job: { state: "IN_QUEUE", losses: 1, returns: 1, queuedAt: T0 + 8000 },
		});
		expect(await site.attempts(id)).toMatchObject([{ end: "lost", open: false }]);
		expect(await site.takeIds({ now: T0 + 8000 })).toEqual([id]);
	});

	it("D16: ping › none proves anything within a lease of a sign: a ping that names it, progress, a post", async () => {
		const site = siteOf(store());
		const signs = [
			(id: string, now: number) => site.ping([id], { now }),
			(id: string, now: number) =>
				store().jobs.progress({ endpoint: site.endpoint, id, worker: "w1", value: "1", now }),
			(id: string, now: number) => store().jobs.renew({ endpoint: site.endpoint, id, worker: "w1", now }),
		];
		for (const sign of signs) {
			const { id } = await site.running();
			await sign(id, T0 + 1000);
			for (const now of [T0 + 6000, T0 + 11_000, T0 + 16_000]) await site.ping([], { now });
			expect(await site.state(id, T0 + 16_000)).toBe("IN_PROGRESS");
			await site.move(id, "cancel", { now: T0 + 16_000 });
			// The sign is known of the old attempt too.
			for (const now of [T0 + 17_000, T0 + 19_000]) await site.ping([], { now });
			expect(await site.attempts(id)).toMatchObject([{ open: true, missed: 0, signAt: T0 + 1000 }]);
			expect(await site.idle({ before: T0 + 20_000, pings: true, now: T0 + 20_999 })).toMatchObject({
				over: [],
				keptOpen: [id],
			});
			expect(await site.idle({ before: T0 + 20_000, pings: true, now: T0 + 21_000 })).toMatchObject({ over: [id] });
		}
	});

	it("D16: ping › does not count for jobs handed out at handedBefore or later, or of other workers", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const other = await site.running({ worker: "w2" });
		for (let i = 0; i < 3; i += 1) expect(await site.ping([], { handedBefore: T0 })).toEqual({ lost: [], over: [] });
		for (let i = 0; i < 3; i += 1)
			expect(await siteOf(store()).ping([], { handedBefore: T0 + 1 })).toEqual({
				lost: [],
				over: [],
			});
		expect(await site.get(id)).toMatchObject({ job: { state: "IN_PROGRESS", missed: 0 } });
		await site.ping([], { handedBefore: T0 + 1 });
		await site.ping([], { handedBefore: T0 + 1 });
		expect([await site.state(id), await site.state(other.id)]).toEqual(["IN_QUEUE", "IN_PROGRESS"]);
	});

	it("D16: ping › two without an old attempt show that it is over; naming it starts again", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.move(id, "cancel");
		await site.ping([], { handedBefore: T0 + 1 });
		expect(await site.ping([id], { handedBefore: T0 + 1 })).toEqual({ lost: [], over: [] });
		await site.ping([], { handedBefore: T0 + 1 });
		expect(await site.attempts(id)).toMatchObject([{ open: true, missed: 1 }]);
		expect(await site.ping([], { handedBefore: T0 + 1 })).toEqual({ lost: [], over: [id] });
		expect(await site.ping([], { handedBefore: T0 + 1 })).toEqual({ lost: [], over: [] });
		expect(await site.attempts(id)).toMatchObject([{ open: false }]);
	});

	it("D16: the third loss fails the job", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		for (let loss = 1; loss <= 3; loss += 1) {
			await site.ping([], { handedBefore: T0 + 1 });
			expect(await site.ping([], { handedBefore: T0 + 1 })).toEqual(
				loss < 3 ? { lost: [id], over: [] } : { lost: [], over: [id] },
			);
			if (loss < 3) await site.take();
		}
		expect(await site.get(id)).toMatchObject({ job: { state: "FAILED", losses: 3 } });
		expect((await site.get(id))?.error).toContain("w1");
		expect((await site.attempts(id)).map(({ end, open: may }) => [end, may])).toEqual([
			["lost", false],
			["lost", false],
			["lost", false],
		]);
	});

	it("D15: ping › a lease that ended before it is lost all the same, with the attempt open", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.ping([id], { now: T0 + LEASE });
		expect(await site.state(id, T0 + LEASE)).toBe("IN_QUEUE");
		expect(await site.attempts(id)).toMatchObject([{ end: "lost", open: true }]);
	});

	it("D16: idle › of what was handed out before it ends old attempts, runs only if the process ended", async () => {
		const site = siteOf(store());
		const old = await site.running({ now: T0 });
		const cancelled = await site.running({ now: T0 });
		const fresh = await site.running({ now: T0 + 10 });
		await site.move(cancelled.id, "cancel", { now: T0 + 10 });
		for (const pings of [true, false])
			expect(await site.idle({ before: T0 + 10, pings, now: T0 + 11 })).toEqual({
				lost: [],
				over: pings ? [cancelled.id] : [],
				kept: [old.id],
				keptOpen: [],
			});
		expect(await site.attempts(cancelled.id)).toMatchObject([{ end: "cancelled", open: false }]);
		expect(await site.idle({ before: T0 + 10, dead: true, now: T0 + 12 })).toEqual({
			lost: [old.id],
			over: [],
			kept: [],
			keptOpen: [],
		});
		expect(await site.state(fresh.id, T0 + 12)).toBe("IN_PROGRESS");
		expect(await site.attempts(old.id)).toMatchObject([{ end: "lost", open: false }]);
		expect(await site.idle({ before: T0 + 10, now: T0 + 12 })).toMatchObject({ lost: [], over: [] });
	});

	it("D16: idle › polls do not keep a run that it denied, so its old attempt ends with the lease", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const renew = (now: number) => store().workers.renew({ endpoint: site.endpoint, worker: "w1", now });
		const leaseUntil = async () => (await site.get(id))?.job.leaseUntil;
		await renew(T0 + 100);
		for (const now of [T0 + 200, T0 + 300]) await site.idle({ before: T0 + 200, now });
		await renew(T0 + 400);
		expect(await leaseUntil()).toBe(T0 + 100 + LEASE);
		expect(await site.idle({ before: T0 + 200, now: T0 + 100 + LEASE })).toMatchObject({ over: [id], kept: [] });
		expect(await site.takeIds({ now: T0 + 100 + LEASE })).toEqual([id]);
		await renew(T0 + 500 + LEASE);
		expect(await leaseUntil()).toBe(T0 + 500 + 2 * LEASE);
	});

	it("D16: ping › one that names a run over an interval after a take denied it shows two processes", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.idle({ before: T0 + 200, now: T0 + 200 });
		const ping = (now: number) => site.ping([id], { intervalMs: 1000, now });
		expect(await ping(T0 + 1200)).toEqual({ lost: [], over: [] });
		for (const now of [T0 + 1300, T0 + 1400]) await site.idle({ before: T0 + 200, now });
		expect(await ping(T0 + 1500)).toEqual({ lost: [], over: [], shared: true });
		expect(await ping(T0 + 2500)).toEqual({ lost: [], over: [] });
	});

	it("D16: ping › one that omits a run after a take denied it leaves no sign of a second process", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.idle({ before: T0 + 200, now: T0 + 200 });
		const ping = (named: string[], now: number) => site.ping(named, { handedBefore: now, intervalMs: 1000, now });
		expect(await ping([], T0 + 1200)).toEqual({ lost: [], over: [] });
		expect(await ping([id], T0 + 1500)).toEqual({ lost: [], over: [] });
	});

	it("D18: idle › by the end of a process is kept apart from the worker's word", async () => {
		const site = siteOf(store());
		const [named, dead] = [await site.running(), await site.running({ worker: "w2" })];
		for (const { id } of [named, dead]) await site.move(id, "cancel");
		await site.idle({ before: T0 + 1 });
		await site.idle({ worker: "w2", before: T0 + 1, dead: true });
		expect((await site.attempts(named.id))[0]).toEqual({
			attempt: 1,
			worker: "w1",
			startedAt: T0,
			endedAt: T0,
			end: "cancelled",
			open: false,
			missed: 0,
		});
		expect((await site.attempts(dead.id))[0]).toEqual({
			attempt: 1,
			worker: "w2",
			startedAt: T0,
			endedAt: T0,
			end: "cancelled",
			open: false,
			missed: 0,
			killed: true,
		});
		expect(await site.store.jobs.unstopped()).not.toContainEqual(expect.objectContaining({ id: dead.id }));
	});

	it("D16: renew › gives all jobs of the worker a full lease, and no others", async () => {
		const site = siteOf(store());
		const [one, two, other] = [await site.running(), await site.running(), await site.running({ worker: "w2" })];
		await store().workers.renew({ endpoint: site.endpoint, worker: "w1", now: T0 + 100 });
		const leases = await Promise.all([one, two, other].map(async ({ id }) => (await site.get(id))?.job.leaseUntil));
		expect(leases).toEqual([T0 + 100 + LEASE, T0 + 100 + LEASE, T0 + LEASE]);
	});
}
