/** Cases: lists of jobs and what is known of one (D12, D39). */
import { expect, it } from "vitest";
import { FINAL_STATES, JOB_STATES, type JobState } from "../../src/kernel/core/jobs/job-states.ts";
import type { Bed } from "./index.ts";
import { alone, LEASE, RECORD, RETAIN, type Site, siteOf, T0, TIMEOUT, TTL } from "./site.ts";

/** One job in each state, in the order of the table; all by `w1` but the waiting one. */
export async function oneOfEach(site: Site): Promise<Record<JobState, string>> {
	const ids = {} as Record<JobState, string>;
	for (const state of FINAL_STATES) {
		const { id } = await site.running({
			leaseMs: 600_000,
			executionTimeoutMs: state === "TIMED_OUT" ? 6000 : TIMEOUT,
			...(state === "TIMED_OUT" && { now: T0 - 6000 }),
		});
		if (state === "CANCELLED") await site.move(id, "cancel");
		else if (state !== "TIMED_OUT")
			await site.report(id, {
				on: state === "FAILED" ? "fail" : "complete",
				output: "1",
				...(state === "FAILED" && { error: "no" }),
			});
		ids[state] = id;
	}
	ids.IN_PROGRESS = (await site.running({ leaseMs: 600_000 })).id;
	ids.IN_QUEUE = (await site.add()).id;
	return ids;
}

export function listCases({ store, open }: Bed): void {
	it("D12: list › jobs of the endpoint, the last submitted first", async () => {
		const site = siteOf(store());
		expect(await site.list()).toEqual({ jobs: [] });
		const ids = await oneOfEach(site);
		await siteOf(store()).add();
		expect(await site.listIds()).toEqual([
			ids.IN_QUEUE,
			ids.IN_PROGRESS,
			ids.TIMED_OUT,
			ids.CANCELLED,
			ids.FAILED,
			ids.COMPLETED,
		]);
	});

	it("D12: list › holds the job as get does, with its error, without output or progress", async () => {
		const site = siteOf(store());
		const ids = await oneOfEach(site);
		await store().jobs.progress({
			endpoint: site.endpoint,
			id: ids.IN_PROGRESS,
			worker: "w1",
			value: '"half"',
			now: T0,
		});
		for (const listed of (await site.list()).jobs) {
			const { job, error } = (await site.get(listed.job.id)) ?? {};
			expect(listed).toEqual({ job, error });
		}
		expect((await site.list({ states: ["FAILED"] })).jobs).toMatchObject([{ error: "no" }]);
		expect((await site.list({ states: ["TIMED_OUT"] })).jobs[0]?.error).toContain("6000 ms");
	});

	it("D12: list › a page of very long errors ends early, and the next one goes on", async () => {
		const site = siteOf(store());
		const ids = [];
		for (let n = 0; n < 4; n += 1) {
			const { id } = await site.running();
			await site.report(id, { on: "fail", error: "e".repeat(9 * 1024 * 1024) });
			ids.unshift(id);
		}
		const first = await site.list({ limit: 100 });
		expect(first.jobs.map(({ job }) => job.id)).toEqual(ids.slice(0, 2));
		const second = await site.list({ limit: 100, cursor: first.next });
		expect(second.jobs.map(({ job }) => job.id)).toEqual(ids.slice(2));
		expect(second.next).toBeUndefined();
	});

	it.each(JOB_STATES)("D12: list › by state %s, alone and among others", async (state) => {
		const site = siteOf(store());
		const ids = await oneOfEach(site);
		expect(await site.listIds({ states: [state] })).toEqual([ids[state]]);
		expect(await site.listIds({ states: [state, "COMPLETED", "IN_QUEUE"], limit: 1 })).toEqual(
			[...new Set([ids.IN_QUEUE, ids[state], ids.COMPLETED])].toSorted().toReversed(),
		);
		expect(await site.listIds({ states: [state, "FAILED", state], limit: 1 })).toEqual(
			[...new Set([ids[state], ids.FAILED])].toSorted().toReversed(),
		);
		expect(await site.listIds({ states: [] })).toEqual([]);
	});

	it("D39: list › by worker of the present or last attempt, and by the moment of submission", async () => {
		const site = siteOf(store());
		const ids = [];
		for (let n = 0; n < 4; n += 1)
			ids.push((await site.running({ worker: n % 2 === 0 ? "wa" : "wb", now: T0 + n })).id);
		await site.report(ids[0] ?? "", { worker: "wa" });
		await site.move(ids[3] ?? "", "release", { attempt: 1, over: true, now: T0 + 5 });
		expect(await site.listIds({ worker: "wa", now: T0 + 5 })).toEqual([ids[2], ids[0]]);
		expect(await site.listIds({ worker: "wb", now: T0 + 5 })).toEqual([ids[1]]);
		expect(await site.listIds({ from: T0 + 1, to: T0 + 3, now: T0 + 5 })).toEqual([ids[2], ids[1]]);
		expect(await site.listIds({ worker: "wa", states: ["COMPLETED"], to: T0 + 1, now: T0 + 5 })).toEqual([ids[0]]);
		expect(await site.listIds({ worker: "wa", states: ["IN_PROGRESS"], now: T0 + 5 })).toEqual([ids[2]]);
		expect(await site.listIds({ states: ["IN_PROGRESS"], from: T0 + 2, now: T0 + 5 })).toEqual([ids[2]]);
		expect(await site.listIds({ states: ["IN_PROGRESS"], to: T0 + 2, now: T0 + 5 })).toEqual([ids[1]]);
	});

	it.each([
		{ name: "all", filter: {} },
		{ name: "ended ones", filter: { states: ["COMPLETED", "CANCELLED"] as JobState[] } },
		{ name: "live ones", filter: { states: ["IN_QUEUE", "IN_PROGRESS"] as JobState[] } },
	])("D12: list › pages of $name hold each job once; the last page has no cursor", async ({ filter }) => {
		const site = siteOf(store());
		for (let n = 0; n < 12; n += 1) {
			const { id } = await site.running();
			if (n % 3 === 0) await site.report(id);
			if (n % 3 === 1) await site.move(id, "cancel");
		}
		const whole = await site.listIds(filter);
		expect(whole).toEqual(whole.toSorted().toReversed());
		const sizes = [];
		for (
			let page = await site.list({ ...filter, limit: 2 });
			;
			page = await site.list({ ...filter, limit: 2, cursor: page.next })
		) {
			sizes.push(page.jobs.length);
			if (page.next === undefined) break;
		}
		expect(sizes).toEqual(Array.from({ length: whole.length / 2 }, () => 2));
		expect(await site.listIds({ ...filter, limit: 3 })).toEqual(whole);
	});

	it("D12: list › a cursor stays good while jobs come and end", async () => {
		const site = siteOf(store());
		const ids = [];
		for (let n = 0; n < 4; n += 1) ids.push((await site.running()).id);
		const first = await site.list({ limit: 2 });
		await site.add();
		await site.report(ids[1] ?? "");
		expect(await site.listIds({ cursor: first.next })).toEqual([ids[1], ids[0]]);
	});

	it("D12: list › a text that is no cursor is a RangeError that says so, and hurts no other", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		for (const cursor of ["", "x", "n", "n0", "n-1", "n1.5", "n99999999999999999999", "n1 ", "1"]) {
			const [wrong, right] = await Promise.allSettled([site.list({ cursor }), site.list()]);
			expect(wrong).toMatchObject({
				status: "rejected",
				reason: expect.any(RangeError) as unknown,
			});
			expect(right).toMatchObject({ value: { jobs: [{ job: { id } }] } });
		}
		await expect(site.list({ cursor: "x" })).rejects.toThrow(/cursor is not one that a list returned/);
		await expect(store().webhooks.list({ cursor: "x", limit: 1 })).rejects.toThrow(RangeError);
	});

	it("D15: list › deadlines hold without a sweep, in what is listed and in what is left out", async () => {
		const site = siteOf(store());
		const lost = await site.running();
		const lapsing = await site.add();
		const over = await site.add();
		expect(await site.listIds({ states: ["IN_QUEUE"], now: T0 + LEASE })).toEqual([over.id, lapsing.id, lost.id]);
		expect(await site.listIds({ states: ["IN_PROGRESS"], now: T0 + LEASE })).toEqual([]);
		expect(await site.listIds({ states: ["TIMED_OUT"], now: T0 + TTL })).toEqual([over.id, lapsing.id]);
		expect((await site.list({ now: T0 + TTL })).jobs[0]).toEqual(await site.get(over.id, T0 + TTL));
	});

	it("D15: list › also when more has passed than one call settles", () =>
		alone(open, async (site) => {
			await Promise.all(Array.from({ length: 1500 }, (_, n) => site.add({ ttlMs: n === 700 ? TTL : 10_000 })));
			const now = T0 + 10_000;
			const [lapsed, waiting, all] = await Promise.all([
				site.listIds({ states: ["TIMED_OUT", "FAILED"], now }),
				site.listIds({ states: ["IN_QUEUE"], now }),
				site.listIds({ now, limit: 90 }),
			]);
			expect([lapsed.length, waiting.length, all.length]).toEqual([1499, 1, 1500]);
			expect(all).toEqual(all.toSorted().toReversed());
		}));

	it("D9: list › an expired job only with `erased`, without error; a forgotten one never", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.report(id, { on: "fail", error: "no" });
		for (let round = 0; round < 2; round += 1) {
			expect(await site.listIds({ now: T0 + RETAIN })).toEqual([]);
			expect(await site.listIds({ now: T0 + RETAIN, states: ["FAILED"] })).toEqual([]);
			const { jobs } = await site.list({ now: T0 + RETAIN, erased: true, states: ["FAILED"] });
			expect(jobs).toMatchObject([{ job: { id, state: "FAILED", erased: true } }]);
			expect(jobs[0]?.error).toBeUndefined();
			expect(await site.listIds({ now: T0 + RECORD, erased: true })).toEqual([]);
			await store().jobs.settle({ now: T0 + RETAIN, limit: 1000 });
		}
	});

	it("list › a page that reads very many jobs which do not fit ends early, and the next go on", () =>
		alone(open, async (site) => {
			const { id } = await site.running({ worker: "rare", leaseMs: 600_000 });
			await Promise.all(Array.from({ length: 20_500 }, () => site.insert()));
			const first = await site.list({ worker: "rare" });
			expect(first.jobs).toEqual([]);
			expect((await site.list({ worker: "rare", cursor: first.next })).jobs.map(({ job }) => job.id)).toEqual([id]);
			expect(await site.listIds({ worker: "rare" })).toEqual([id]);
			expect(await site.listIds({ states: ["IN_PROGRESS"] })).toEqual([id]);
			expect(await site.list({ states: ["COMPLETED"], worker: "rare" })).toEqual({ jobs: [] });
		}));

	it("D39: record › everything of a job: texts, attempts, chunks", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ input: '{"n":1.0}' });
		const { endpoint } = site;
		const chunks = ["1", "2", "3"];
		await store().chunks.append({ endpoint, id, worker: "w1", chunks, unlessLast: false, now: T0 });
		await store().chunks.reserve({ endpoint, id, reader: "r", maxBytes: 1, now: T0 });
		await store().chunks.deliver({ endpoint, id, reader: "r", delivered: true });
		expect(await site.record(id)).toEqual({
			job: (await site.get(id))?.job,
			input: '{"n":1.0}',
			attempts: [],
			chunks: { written: 3, delivered: 1 },
		});
		await site.move(id, "lose", { attempt: 1, now: T0 + 1 });
		await site.take({ worker: "w2", now: T0 + 2 });
		await site.report(id, { worker: "w2", on: "fail", output: "[1]", error: "no", now: T0 + 3 });
		expect(await site.record(id, T0 + 4)).toEqual({
			...(await site.get(id)),
			input: '{"n":1.0}',
			attempts: await site.attempts(id),
			chunks: { written: 3, delivered: 1 },
		});
		expect(await site.record("no-such-id")).toBeUndefined();
		expect(await siteOf(store()).record(id)).toBeUndefined();
	});

	it("D15: record › answers as if what has passed were settled", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const { id } = await site.running();
		await store().chunks.append({
			endpoint,
			id,
			worker: "w1",
			chunks: ["1", "2"],
			unlessLast: false,
			now: T0,
		});
		await store().chunks.reserve({ endpoint, id, reader: "r", maxBytes: 1, now: T0 });
		const now = T0 + LEASE + TTL;
		const before = await site.record(id, now);
		expect(before).toMatchObject({
			job: { state: "TIMED_OUT" },
			attempts: [{ end: "lost", endedAt: T0 + LEASE, open: true }],
			chunks: { written: 2, delivered: 1 },
		});
		await site.move(id, "cancel", { now });
		expect(await site.record(id, now)).toEqual(before);
	});

	it("D9: record › outlives the payloads, until it is forgotten", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ webhook: "https://example.org/hook", s3Config: "sealed" });
		await site.move(id, "lose", { attempt: 1 });
		await site.take({ worker: "w2" });
		await site.report(id, { worker: "w2", output: "1", error: "no" });
		const before = await site.record(id, T0 + RETAIN);
		expect(before).toMatchObject({
			job: { id, state: "COMPLETED", erased: true },
			attempts: [{ end: "lost" }],
		});
		expect([before?.input, before?.output, before?.error, before?.job.webhook, before?.job.s3Config]).toEqual([
			undefined,
			undefined,
			undefined,
			undefined,
			undefined,
		]);
		await store().jobs.settle({ now: T0 + RETAIN, limit: 1000 });
		expect(await site.record(id, T0 + RETAIN)).toEqual(before);
		expect(await site.record(id, T0 + RECORD)).toBeUndefined();
	});
}
