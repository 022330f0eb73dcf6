/** Cases: the history of attempts (D16). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, LEASE, RETAIN, siteOf, T0, TIMEOUT } from "./site.ts";

export function attemptCases({ store, open }: Bed): void {
	it("a job without ended attempts, and an unknown one, have none", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		expect(await site.attempts(id)).toEqual([]);
		await site.report(id);
		expect(await site.attempts(id)).toEqual([]);
		expect(await site.attempts("no-such-id")).toEqual([]);
	});

	it("lost and released attempts are listed in order, open unless known to be over", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ worker: "wa" });
		await site.move(id, "lose", { attempt: 1, now: T0 + 1 });
		await site.take({ worker: "wb", now: T0 + 2 });
		await site.move(id, "release", { attempt: 2, over: true, now: T0 + 3 });
		await site.take({ worker: "wc", now: T0 + 4 });
		expect(await site.attempts(id)).toEqual([
			{
				attempt: 1,
				worker: "wa",
				startedAt: T0,
				endedAt: T0 + 1,
				end: "lost",
				open: true,
				missed: 0,
			},
			{
				attempt: 2,
				worker: "wb",
				startedAt: T0 + 2,
				endedAt: T0 + 3,
				end: "released",
				open: false,
				missed: 0,
			},
		]);
	});

	it("B.5: a report of a start that failed returns only the attempt that it names", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const report = { on: "release", workerEnd: "its start failed" } as const;
		expect(await site.report(id, { ...report, attempt: 1, now: T0 + 5 })).toMatchObject({
			ok: true,
			job: { queuedAt: T0 },
		});
		await site.take({ now: T0 + 6 });
		expect(await site.report(id, { ...report, attempt: 1 })).toMatchObject({ why: "stale" });
		expect(await site.state(id)).toBe("IN_PROGRESS");
		expect(await site.attempts(id)).toMatchObject([{ end: "released", workerEnd: "its start failed" }]);
	});

	it("a late report closes the attempts of its worker only", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ worker: "wa" });
		await site.move(id, "lose", { attempt: 1 });
		await site.take({ worker: "wb" });
		await site.move(id, "lose", { attempt: 2 });
		expect(await site.report(id, { worker: "wa" })).toMatchObject({ why: "stale" });
		expect((await site.attempts(id)).map(({ open: may }) => may)).toEqual([false, true]);
		expect(await site.report(id, { worker: "wz" })).toMatchObject({ why: "missing" });
		expect((await site.attempts(id)).map(({ open: may }) => may)).toEqual([false, true]);
	});

	it("a cancelled run stays open until its worker is done with it", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.move(id, "cancel", { now: T0 + 2 });
		expect(await site.attempts(id)).toEqual([
			{
				attempt: 1,
				worker: "w1",
				startedAt: T0,
				endedAt: T0 + 2,
				end: "cancelled",
				open: true,
				missed: 0,
			},
		]);
		expect(await site.report(id)).toMatchObject({ ok: false, why: "stale" });
		expect(await site.attempts(id)).toMatchObject([{ open: false }]);
	});

	it("D18: unstopped › cancelled and overrun runs until they are over, no lost ones, of all endpoints", () =>
		alone(open, async (site) => {
			const cancelled = await site.running({ worker: "wa" });
			await site.move(cancelled.id, "cancel");
			const lost = await site.running({ worker: "wb" });
			await site.move(lost.id, "lose", { attempt: 1 });
			const waiting = await site.add();
			await site.move(waiting.id, "cancel");
			expect(await site.store.jobs.unstopped()).toEqual([{ endpoint: site.endpoint, id: cancelled.id, worker: "wa" }]);
			await site.report(cancelled.id, { worker: "wa" });
			expect(await site.store.jobs.unstopped()).toEqual([]);
		}));

	it("an overrun and a lost lease leave open attempts, stamped with their moment", async () => {
		const site = siteOf(store());
		const over = await site.running({ leaseMs: 600_000 });
		await site.move(over.id, "cancel", { now: T0 + TIMEOUT + 9 });
		expect(await site.attempts(over.id)).toMatchObject([{ end: "timed_out", endedAt: T0 + TIMEOUT, open: true }]);
		const lost = await site.running();
		await site.move(lost.id, "cancel", { now: T0 + LEASE });
		expect(await site.attempts(lost.id)).toMatchObject([{ end: "lost", open: true }]);
	});

	it("a retry puts the attempt that failed alone into the history, closed", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.report(id, { on: "fail", now: T0 + 3 });
		await site.move(id, "retry", { now: T0 + 9 });
		expect(await site.attempts(id)).toEqual([
			{
				attempt: 1,
				worker: "w1",
				startedAt: T0,
				endedAt: T0 + 3,
				end: "failed",
				open: false,
				missed: 0,
			},
		]);
		expect(await site.takeIds()).toEqual([id]);
	});

	it("D16: attempt numbers never restart, not even by retry", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		for (let attempt = 1; attempt <= 3; attempt += 1) {
			await site.move(id, "lose", { attempt, over: true });
			if (attempt < 3) await site.take();
		}
		expect(await site.state(id)).toBe("FAILED");
		expect(await site.move(id, "retry")).toMatchObject({
			ok: true,
			job: { losses: 0, attempt: 3, returns: 3 },
		});
		expect(await site.take()).toMatchObject({ jobs: [{ job: { attempt: 4 } }] });
		expect((await site.attempts(id)).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
	});

	it("the history outlives the result", () =>
		alone(open, async (site) => {
			const { id } = await site.running();
			await site.move(id, "lose", { attempt: 1 });
			await site.move(id, "cancel");
			await site.settle(T0 + RETAIN);
			expect(await site.get(id, T0 + RETAIN)).toBeUndefined();
			expect(await site.attempts(id)).toMatchObject([{ end: "lost" }]);
		}));
}
