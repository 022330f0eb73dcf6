/** Cases: counts of an endpoint, and what scaling reads. */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, LEASE, siteOf, T0, TIMEOUT, TTL } from "./site.ts";

const NONE = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };

export function countCases({ store, open }: Bed): void {
	it("D13: counts › zeros for an endpoint without jobs", async () => {
		const site = siteOf(store());
		expect(await site.counts()).toEqual(NONE);
		expect(await site.waiting()).toEqual({ jobs: 0 });
	});

	it("D13: counts › the present by state, totals by outcome and return", async () => {
		const site = siteOf(store());
		const [done, failed, lost, retried, cancelled] = [
			await site.running(),
			await site.running(),
			await site.running(),
			await site.running(),
			await site.running(),
		];
		await site.add();
		await site.report(done.id);
		await site.report(failed.id, { on: "fail" });
		await site.move(lost.id, "lose", { attempt: 1 });
		await site.report(retried.id, { on: "fail" });
		await site.move(retried.id, "retry");
		await site.move(cancelled.id, "cancel");
		expect(await site.takeIds({ worker: "w3" })).toEqual([lost.id]);
		expect(await site.counts()).toEqual({
			inQueue: 2,
			inProgress: 1,
			completed: 1,
			failed: 2,
			retried: 2,
		});
	});

	it("D13: allCounts › those of every endpoint, with what has passed", () =>
		alone(open, async (site) => {
			const other = siteOf(site.store);
			expect(await site.store.jobs.allCounts({ now: T0 })).toEqual([]);
			await site.add({ ttlMs: TTL });
			await site.add({ ttlMs: 2 * TTL });
			await other.running();
			const all = async (now: number) =>
				(await site.store.jobs.allCounts({ now })).toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
			const both = [site, other].toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
			for (const now of [T0, T0 + TTL]) {
				expect(await all(now)).toEqual(
					await Promise.all(both.map(async ({ endpoint, counts }) => ({ endpoint, counts: await counts(now) }))),
				);
			}
			expect((await all(T0 + TTL)).find(({ endpoint }) => endpoint === site.endpoint)?.counts).toEqual({
				...NONE,
				inQueue: 1,
				failed: 1,
			});
		}));

	it("D13: counts › a release is no retry", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.move(id, "release", { attempt: 1 });
		expect(await site.counts()).toEqual({ ...NONE, inQueue: 1 });
	});

	it("D15: counts › lapsed jobs do not count as waiting, overrun ones not as running, before any sweep", async () => {
		const site = siteOf(store());
		await site.running({ leaseMs: 600_000 });
		await site.running({ leaseMs: 600_000, executionTimeoutMs: TTL * 2 });
		await site.add();
		await site.add({ ttlMs: TTL * 2 });
		expect(await site.counts(T0 + TIMEOUT - 1)).toEqual({ ...NONE, inQueue: 2, inProgress: 2 });
		expect(await site.counts(T0 + TIMEOUT)).toEqual({
			...NONE,
			inQueue: 2,
			inProgress: 1,
			failed: 1,
		});
		expect(await site.counts(T0 + TTL - 1)).toEqual({
			...NONE,
			inQueue: 2,
			inProgress: 1,
			failed: 1,
		});
		expect(await site.counts(T0 + TTL)).toEqual({ ...NONE, inQueue: 1, inProgress: 1, failed: 2 });
	});

	it("D15: counts › a job whose lease ended counts as waiting again", async () => {
		const site = siteOf(store());
		await site.running();
		expect(await site.counts(T0 + LEASE)).toEqual({ ...NONE, inQueue: 1, retried: 1 });
	});

	it("D15: the queue bound does not count lapsed jobs, however many", async () => {
		const site = siteOf(store());
		await Promise.all(Array.from({ length: 1500 }, () => site.add({ ttlMs: 10_000 })));
		expect(await site.insert({ queueBound: 50, now: T0 + 9_999 })).toMatchObject({ ok: false });
		expect(await site.insert({ queueBound: 50, now: T0 + 10_000 })).toMatchObject({ ok: true });
		expect(await site.counts(T0 + 10_000)).toMatchObject({ inQueue: 1, failed: 1500 });
	});

	it("D20: waiting › the oldest wait and the number, without low priority", async () => {
		const site = siteOf(store());
		await site.add({ lowPriority: true, now: T0 - 50 });
		expect(await site.waiting()).toEqual({ jobs: 0 });
		const oldest = await site.add({ now: T0 - 20 });
		await site.add({ now: T0 - 10 });
		expect(await site.waiting()).toEqual({ jobs: 2, oldestQueuedAt: T0 - 20 });
		expect(await site.takeIds()).toEqual([oldest.id]);
		expect(await site.waiting()).toEqual({ jobs: 1, oldestQueuedAt: T0 - 10 });
	});

	it("D20: waiting › a job that came back waits since its return, though it stands in front", async () => {
		const site = siteOf(store());
		const first = await site.running({ now: T0 - 30 });
		const second = await site.running({ now: T0 - 30 });
		await site.move(first.id, "release", { attempt: 1, now: T0 - 20 });
		await site.move(second.id, "release", { attempt: 1, now: T0 - 15 });
		expect(await site.waiting()).toEqual({ jobs: 2, oldestQueuedAt: T0 - 20 });
		await site.add({ now: T0 - 25 });
		expect(await site.waiting()).toEqual({ jobs: 3, oldestQueuedAt: T0 - 25 });
	});

	it("D15: waiting › leaves lapsed jobs out", async () => {
		const site = siteOf(store());
		await site.add({ ttlMs: 10_000 });
		await site.add({ now: T0 + 500 });
		expect(await site.waiting(T0 + 9_999)).toEqual({ jobs: 2, oldestQueuedAt: T0 });
		expect(await site.waiting(T0 + 10_000)).toEqual({ jobs: 1, oldestQueuedAt: T0 + 500 });
	});
}
