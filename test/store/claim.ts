/** Cases: which jobs a claim hands out, and to whom it does not. */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, LEASE, siteOf, T0, TIMEOUT, TTL } from "./site.ts";

export function claimCases({ store, open }: Bed): void {
	it("hands out the oldest first, with attempt, worker, start and lease", async () => {
		const site = siteOf(store());
		const first = await site.add({ input: '{"n":1}' });
		const second = await site.add();
		const { jobs, fenced } = await site.take({ limit: 2, now: T0 + 4 });
		expect(fenced).toBe(false);
		expect(jobs.map(({ job }) => job.id)).toEqual([first.id, second.id]);
		expect(jobs[0]).toMatchObject({
			input: '{"n":1}',
			job: {
				state: "IN_PROGRESS",
				attempt: 1,
				worker: "w1",
				startedAt: T0 + 4,
				leaseUntil: T0 + 4 + LEASE,
				dueAt: T0 + 4 + LEASE,
			},
		});
		expect(await site.takeIds({ limit: 5 })).toEqual([]);
	});

	it("takes from its own endpoint only", async () => {
		const site = siteOf(store());
		await site.add();
		expect(await siteOf(store()).takeIds()).toEqual([]);
	});

	it("D20: low priority comes last, however old", async () => {
		const site = siteOf(store());
		const low = await site.add({ lowPriority: true });
		const high = [await site.add(), await site.add()];
		expect(await site.takeIds({ limit: 2 })).toEqual(high.map(({ id }) => id));
		expect(await site.takeIds({ limit: 2 })).toEqual([low.id]);
	});

	it("hands out inputs of at most maxBytes characters together, but at least one job", async () => {
		const site = siteOf(store());
		const input = JSON.stringify("x".repeat(98));
		const added = [];
		for (let i = 0; i < 5; i += 1) added.push((await site.add({ input, lowPriority: i > 2 })).id);
		expect(await site.takeIds({ limit: 5, maxBytes: 10 })).toEqual(added.slice(0, 1));
		expect(await site.takeIds({ limit: 5, maxBytes: 300 })).toEqual(added.slice(1, 4));
		expect(await site.takeIds({ limit: 5, maxBytes: 99 })).toEqual(added.slice(4));
	});

	it("D15: skips lapsed jobs", async () => {
		const site = siteOf(store());
		const lapsed = await site.add({ ttlMs: 10_000 });
		const live = await site.add();
		expect(await site.takeIds({ limit: 2, now: T0 + 10_000 })).toEqual([live.id]);
		expect(await site.state(lapsed.id, T0 + 10_000)).toBe("TIMED_OUT");
	});

	it("twenty claimers at once never share a job, and leave none", async () => {
		const site = siteOf(store());
		const added = await Promise.all(Array.from({ length: 200 }, () => site.add()));
		const claims = await Promise.all(
			Array.from({ length: 20 }, async (_, n) => {
				const mine: string[] = [];
				for (
					let got = await site.takeIds({ worker: `w${n}`, limit: 3 });
					got.length > 0;
					got = await site.takeIds({ worker: `w${n}`, limit: 3 })
				)
					mine.push(...got);
				return mine;
			}),
		);
		expect(claims.flat().toSorted()).toEqual(added.map(({ id }) => id).toSorted());
		expect(await site.counts()).toMatchObject({ inQueue: 0, inProgress: 200 });
	});

	it("D16: a job that is lost or released goes to the front of the queue", async () => {
		const site = siteOf(store());
		const first = await site.running();
		const second = await site.running();
		const third = await site.add();
		await site.move(second.id, "release", { attempt: 1, over: true });
		await site.move(first.id, "lose", { attempt: 1, over: true });
		expect(await site.takeIds({ limit: 5 })).toEqual([first.id, second.id, third.id]);
	});

	it("D16: a group lost together keeps its order among itself at the front", async () => {
		const site = siteOf(store());
		const retried = await site.running();
		await site.report(retried.id, { on: "fail", error: "no" });
		const group = [(await site.add()).id, (await site.add()).id, (await site.add()).id, retried.id];
		await site.move(retried.id, "retry");
		expect(await site.takeIds({ limit: 4 })).toEqual(group);
		const later = await site.add();
		expect((await site.idle({ before: T0 + 1, dead: true, now: T0 + 1 })).lost.toSorted()).toEqual(group.toSorted());
		expect(await site.takeIds({ worker: "w2", limit: 9, now: T0 + 2 })).toEqual([...group, later.id]);
	});

	it("D16: a group whose leases end in one sweep keeps its order", () =>
		alone(open, async (site) => {
			const group = [(await site.add()).id, (await site.add()).id, (await site.add()).id];
			for (const id of group) expect(await site.takeIds()).toEqual([id]);
			const later = await site.add();
			await site.settle(T0 + LEASE);
			expect(await site.takeIds({ worker: "w2", limit: 9, now: T0 + LEASE })).toEqual([...group, later.id]);
		}));

	it("D16: the fence keeps a job from the worker that may still run it, and reports it", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.move(id, "lose", { attempt: 1 });
		const other = await site.add();
		const claim = await site.take({ limit: 5 });
		expect(claim.jobs.map(({ job }) => job.id)).toEqual([other.id]);
		expect(claim.fenced).toBe(true);
		expect(await site.take({ limit: 5 })).toEqual({ jobs: [], fenced: true });
		const elsewhere = await site.take({ worker: "w2" });
		expect(elsewhere).toMatchObject({ jobs: [{ job: { id } }], fenced: false });
		expect(await site.take({ limit: 5 })).toEqual({ jobs: [], fenced: false });
	});

	it("D16: the fence falls when the old attempt is over: its report, an idle take, two pings", async () => {
		const site = siteOf(store());
		const ends = {
			report: (id: string) => site.report(id),
			idle: () => site.idle({ before: T0 + 1 }),
			pings: async () => {
				await site.ping([], { handedBefore: T0 + 1 });
				expect((await site.take()).fenced).toBe(true);
				await site.ping([], { handedBefore: T0 + 1 });
			},
		};
		for (const [name, end] of Object.entries(ends)) {
			const { id, attempt } = await site.running();
			await site.move(id, "release", { attempt });
			expect([name, await site.take()]).toEqual([name, { jobs: [], fenced: true }]);
			await end(id);
			expect([name, await site.takeIds()]).toEqual([name, [id]]);
			await site.report(id);
		}
	});

	it("D16: one worker only: its job overruns and is retried; its late report leaves the new attempt", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ leaseMs: 600_000 });
		const now = T0 + TIMEOUT;
		expect(await site.state(id, now)).toBe("TIMED_OUT");
		expect(await site.move(id, "retry", { now })).toMatchObject({ ok: true });
		expect(await site.take({ now })).toEqual({ jobs: [], fenced: true });
		expect(await site.report(id, { now })).toMatchObject({ ok: false, why: "stale" });
		expect(await site.state(id, now)).toBe("IN_QUEUE");
		expect((await site.take({ now })).jobs.map(({ job }) => [job.id, job.attempt])).toEqual([[id, 2]]);
		expect(await site.get(id, now)).toMatchObject({
			job: { state: "IN_PROGRESS", attempt: 2 },
			output: undefined,
			error: undefined,
		});
		expect(await site.report(id, { now })).toMatchObject({
			ok: true,
			job: { state: "COMPLETED", attempt: 2 },
		});
	});

	it("D16: a worker with a long run of fenced jobs still gets those behind, and those that join in front", async () => {
		const site = siteOf(store());
		const old = [];
		for (let i = 0; i < 30; i += 1) old.push((await site.add()).id);
		await site.take({ limit: 30 });
		for (const id of old.toReversed()) await site.move(id, "release", { attempt: 1 });
		const behind = [await site.add(), await site.add(), await site.add()];
		for (const { id } of behind) expect(await site.take()).toMatchObject({ jobs: [{ job: { id } }], fenced: true });
		expect(await site.take()).toEqual({ jobs: [], fenced: true });
		const [again] = behind;
		await site.move(again?.id ?? "", "release", { attempt: 1, over: true });
		expect(await site.takeIds()).toEqual([again?.id]);
		expect(await site.take()).toEqual({ jobs: [], fenced: true });
		await site.report(old[7] ?? "");
		expect(await site.takeIds({ limit: 9 })).toEqual([old[7]]);
		expect((await site.takeIds({ worker: "w2", limit: 99 })).toSorted()).toEqual(
			old.filter((_, n) => n !== 7).toSorted(),
		);
		const last = await site.add();
		expect(await site.take()).toMatchObject({ jobs: [{ job: { id: last.id } }], fenced: false });
	});

	it("a fenced job of low priority is passed over alike", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ lowPriority: true, ttlMs: TTL });
		await site.move(id, "lose", { attempt: 1 });
		expect(await site.take()).toEqual({ jobs: [], fenced: true });
		expect(await site.takeIds({ worker: "w2" })).toEqual([id]);
	});
}
