/** Cases: jobs that their workers return (D54), and the number of the run (D55). */
import { describe, expect, it } from "vitest";
import { MAX_RETURNS, RETURN_SPAN_MS } from "../../src/kernel/core/jobs/job-return.ts";
import type { Bed } from "./index.ts";
import { LEASE, type Site, siteOf, T0, TIMEOUT, TTL } from "./site.ts";

const WHY = "the server does not answer";
const RETURN = { on: "return", workerEnd: WHY } as const;
const LOSE = { on: "lose", workerEnd: WHY } as const;

/** Takes the job and returns it, so many times, so far apart that each counts. Returns the time after that. */
async function returned(site: Site, id: string, times: number, from = T0): Promise<number> {
	for (let n = 0; n < times; n += 1) {
		const now = from + n * RETURN_SPAN_MS;
		expect(await site.takeIds({ now })).toEqual([id]);
		expect(await site.report(id, { ...RETURN, now })).toMatchObject({ ok: true, job: { state: "IN_QUEUE" } });
	}
	return from + times * RETURN_SPAN_MS;
}

export function returnCases({ store }: Bed): void {
	it("D54: a returned job is first in its queue, without a loss, with the reason and its queue deadline", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const other = await site.add();
		expect(await site.report(id, { ...RETURN, now: T0 + 5 })).toEqual({
			ok: true,
			job: expect.objectContaining({ state: "IN_QUEUE", losses: 0, returns: 0, queuedAt: T0, dueAt: T0 + TTL }),
		});
		expect(await site.attempts(id)).toEqual([
			{
				attempt: 1,
				worker: "w1",
				startedAt: T0,
				endedAt: T0 + 5,
				end: "released",
				open: false,
				missed: 0,
				returned: true,
				workerEnd: WHY,
			},
		]);
		expect(await site.counts()).toMatchObject({ inQueue: 2, inProgress: 0, retried: 0 });
		expect(await site.takeIds({ limit: 2, now: T0 + 6 })).toEqual([id, other.id]);
		expect(await site.report(id, { output: "1", now: T0 + 7 })).toMatchObject({ ok: true, job: { attempt: 2 } });
	});

	it("D54, D15: a job whose queue deadline passed while it ran has timed out when it is returned", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ ttlMs: 10_000, leaseMs: LEASE });
		expect(await site.report(id, { ...RETURN, now: T0 + 15_000 })).toMatchObject({ ok: true });
		expect(await site.get(id, T0 + 15_000)).toMatchObject({
			job: { state: "TIMED_OUT", endedAt: T0 + 15_000 },
			error: expect.stringContaining("ttl"),
		});
	});

	it("D54: a return as a loss counts as one, with a new ttl; the third fails the job with the reasons", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		expect(await site.report(id, { ...LOSE, now: T0 + 5 })).toMatchObject({
			ok: true,
			lost: true,
			job: { losses: 1, returns: 1, queuedAt: T0 + 5, dueAt: T0 + 5 + TTL },
		});
		expect(await site.counts()).toMatchObject({ retried: 1 });
		await site.take();
		await site.report(id, LOSE);
		await site.take();
		expect(await site.report(id, LOSE)).toMatchObject({ ok: true, lost: true, job: { state: "FAILED", returns: 2 } });
		expect((await site.get(id))?.error).toMatch(/lost 3 times.*attempt 3 on worker w1 \(the server does not answer\)/);
		expect(await site.attempts(id)).toMatchObject(
			Array.from({ length: 3 }, () => ({ end: "lost", open: false, returned: true, workerEnd: WHY })),
		);
	});

	it("D54: ten returns of a run are no loss, the eleventh is; a retry begins again", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		const now = await returned(site, id, MAX_RETURNS);
		for (const losses of [1, 2]) {
			await site.take({ now });
			expect(await site.report(id, { ...RETURN, now })).toMatchObject({ ok: true, lost: true, job: { losses } });
		}
		await site.take({ now });
		expect(await site.report(id, { ...RETURN, now })).toMatchObject({ ok: true, lost: true, job: { state: "FAILED" } });
		await site.move(id, "retry", { now });
		const later = await returned(site, id, MAX_RETURNS, now);
		expect(await site.get(id, later)).toMatchObject({ job: { losses: 0 } });
	});

	it("D54: returns by many workers within 5 s count once", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		for (let n = 0; n < 3 * MAX_RETURNS; n += 1) {
			const worker = `w${n}`;
			await site.take({ worker });
			expect(await site.report(id, { ...RETURN, worker })).toMatchObject({ ok: true, job: { losses: 0 } });
		}
	});

	it("D54: returns by the service do not count among those of workers", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		for (let attempt = 1; attempt <= MAX_RETURNS; attempt += 1) {
			await site.take();
			await site.report(id, { on: "release", attempt, workerEnd: "its start failed" });
		}
		await returned(site, id, 1);
		expect(await site.get(id)).toMatchObject({ job: { losses: 0 } });
	});

	describe("D54: a return changes nothing", () => {
		it.each<[string, (site: Site, id: string) => Promise<unknown>]>([
			["when it is repeated", (site, id) => site.report(id, RETURN)],
			["of an attempt that was lost", (site, id) => site.move(id, "lose", { attempt: 1 })],
			[
				"of an attempt that was lost while another worker has the job",
				async (site, id) => {
					await site.move(id, "lose", { attempt: 1 });
					await site.take({ worker: "w2" });
				},
			],
			["of a job that has ended", (site, id) => site.report(id)],
			["of a job that was cancelled", (site, id) => site.move(id, "cancel")],
		])("%s", async (_, happens) => {
			const site = siteOf(store());
			const { id } = await site.running();
			await happens(site, id);
			const before = [await site.get(id), (await site.attempts(id)).map(({ open: _open, ...past }) => past)];
			for (const outcome of [RETURN, LOSE])
				expect(await site.report(id, outcome)).toMatchObject({ ok: false, why: "stale" });
			expect([await site.get(id), (await site.attempts(id)).map(({ open: _open, ...past }) => past)]).toEqual(before);
		});

		it("of a worker that never had the job, or of a job that does not exist", async () => {
			const site = siteOf(store());
			const { id } = await site.running();
			expect(await site.report(id, { ...RETURN, worker: "w2" })).toMatchObject({ ok: false, why: "missing" });
			expect(await site.report("no-such-id", RETURN)).toMatchObject({ ok: false, why: "missing" });
			expect(await site.state(id)).toBe("IN_PROGRESS");
		});

		it("when it names an earlier attempt of a job that the same worker has again", async () => {
			const site = siteOf(store());
			const { id } = await site.running();
			expect(await site.report(id, { ...RETURN, attempt: 1 })).toMatchObject({ ok: true });
			await site.take();
			expect(await site.report(id, { ...RETURN, attempt: 1 })).toMatchObject({ ok: false, why: "stale" });
			expect(await site.state(id)).toBe("IN_PROGRESS");
			expect(await site.report(id, { ...RETURN, attempt: 2 })).toMatchObject({ ok: true });
		});

		it("when it names an earlier attempt than one that was cancelled and may still run", async () => {
			const site = siteOf(store());
			const { id } = await site.running();
			await site.report(id, { ...RETURN, attempt: 1 });
			await site.take();
			await site.move(id, "cancel");
			await site.report(id, { ...RETURN, attempt: 1 });
			expect((await site.attempts(id)).map(({ open }) => open)).toEqual([false, true]);
			await site.report(id, { ...RETURN, attempt: 2 });
			expect((await site.attempts(id)).map(({ open }) => open)).toEqual([false, false]);
		});
	});

	describe("D54, D16: late posts", () => {
		const progress = (site: Site, id: string, worker: string) =>
			site.store.jobs.progress({ endpoint: site.endpoint, id, worker, value: "1", now: T0 });

		it.each([RETURN, LOSE])("that a return overtook do not give the job back to its worker: $on", async (outcome) => {
			const site = siteOf(store());
			const { id } = await site.running();
			await site.move(id, "lose", { attempt: 1, over: true });
			await site.take();
			await site.report(id, outcome);
			expect(await progress(site, id, "w1")).toBe(false);
			expect(await site.report(id, { output: "1" })).toMatchObject({ ok: false, why: "stale" });
			expect(await site.state(id)).toBe("IN_QUEUE");
		});

		it.each([RETURN, LOSE])("of a worker that lost the job before still count: $on", async (outcome) => {
			const site = siteOf(store());
			const { id } = await site.running();
			await site.move(id, "lose", { attempt: 1 });
			await site.take({ worker: "w2" });
			await site.report(id, { ...outcome, worker: "w2" });
			expect(await site.report(id, { output: "1" })).toMatchObject({ ok: true, late: true });
		});
	});

	it("D54, D7: chunks of a returned attempt that were not delivered are deleted, as after a loss", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const { endpoint } = site;
		const append = (chunks: string[]) =>
			store().chunks.append({ endpoint, id, worker: "w1", chunks, unlessLast: false, now: T0 });
		await append(["a"]);
		await store().chunks.reserve({ endpoint, id, reader: "r", maxBytes: 1000, now: T0 });
		await store().chunks.deliver({ endpoint, id, reader: "r", delivered: true });
		await append(["b"]);
		await site.report(id, RETURN);
		expect(await store().chunks.read({ endpoint, id, from: 0, maxBytes: 1000, now: T0 })).toMatchObject({
			chunks: ["a"],
		});
		await site.take();
		await append(["c"]);
		expect(await store().chunks.read({ endpoint, id, from: 1, maxBytes: 1000, now: T0 })).toMatchObject({
			chunks: ["c"],
			next: 3,
		});
	});

	it("D55: only a retry begins another run; losses and returns do not", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ leaseMs: 2 * TIMEOUT });
		const runs = async (now: number, worker = "w1") =>
			(await site.take({ worker, now })).jobs.map(({ job }) => job.run);
		await site.report(id, RETURN);
		expect(await runs(T0)).toEqual([undefined]);
		await site.move(id, "lose", { attempt: 2, over: true });
		expect(await runs(T0)).toEqual([undefined]);
		await site.report(id, { on: "fail" });
		await site.move(id, "retry");
		expect(await runs(T0)).toEqual([2]);
		await site.move(id, "lose", { attempt: 4, over: true });
		expect(await runs(T0)).toEqual([2]);
		// It runs too long, is retried, waits too long, and is retried again.
		const later = T0 + TIMEOUT;
		await site.move(id, "retry", { now: later });
		const lapsed = later + TTL;
		await site.move(id, "retry", { now: lapsed });
		expect(await runs(lapsed, "w2")).toEqual([4]);
	});
}
