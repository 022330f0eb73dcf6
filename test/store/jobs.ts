/** Cases: adding, reading, reporting, progress and moves of jobs. */
import { expect, it } from "vitest";
import { stringOf } from "../../src/kernel/lib/json/json-text.ts";
import type { Bed } from "./index.ts";
import { LEASE, siteOf, T0, TTL } from "./site.ts";

const ODD_JSON = '{"seed": 18446744073709551615, "x": 1.0, "a": "\\ud83d\\ude00", "a": 2, "e": "é 😀"}';

export function jobCases({ store }: Bed): void {
	it("insert › answers a fresh job that waits, and get finds it", async () => {
		const site = siteOf(store());
		const job = await site.add({
			webhook: "https://example.org/hook",
			s3Config: "sealed",
			lowPriority: true,
			operation: "openai",
		});
		expect(job).toMatchObject({
			state: "IN_QUEUE",
			attempt: 0,
			losses: 0,
			returns: 0,
			missed: 0,
			erased: false,
			submittedAt: T0,
			queuedAt: T0,
			dueAt: T0 + TTL,
		});
		expect(await site.get(job.id)).toEqual({ job });
	});

	it("get › knows a job only at its own endpoint", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		expect(await siteOf(store()).get(id)).toBeUndefined();
		expect(await site.get("no-such-id")).toBeUndefined();
	});

	it("insert › the same id twice is a fault, and the first job stays", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		await expect(site.add({ id })).rejects.toThrow(Error);
		expect(await site.state(id)).toBe("IN_QUEUE");
		expect(await site.counts()).toMatchObject({ inQueue: 1 });
	});

	it("D23: insert › is refused when more than the bound wait before it, and only then", async () => {
		const site = siteOf(store());
		for (let waiting = 0; waiting <= 3; waiting += 1)
			expect(await site.insert({ queueBound: 3 })).toMatchObject({ ok: true });
		expect(await site.insert({ queueBound: 3 })).toEqual({ ok: false, why: "full" });
		await site.take();
		expect(await site.insert({ queueBound: 3 })).toMatchObject({ ok: true });
		expect(await site.insert()).toMatchObject({ ok: true });
	});

	it("D23: insert › the bound holds among submissions at once", async () => {
		const site = siteOf(store());
		const answers = await Promise.all(Array.from({ length: 30 }, () => site.insert({ queueBound: 9 })));
		expect(answers.filter(({ ok }) => ok)).toHaveLength(10);
	});

	it("D5: input, output and chunks come back byte for byte", async () => {
		const site = siteOf(store());
		await site.add({ input: ODD_JSON });
		const { jobs } = await site.take();
		expect(jobs[0]?.input).toBe(ODD_JSON);
		const id = jobs[0]?.job.id ?? "";
		await store().chunks.append({
			endpoint: site.endpoint,
			id,
			worker: "w1",
			chunks: [ODD_JSON],
			unlessLast: false,
			now: T0,
		});
		await site.report(id, { output: ODD_JSON });
		expect((await site.get(id))?.output).toBe(ODD_JSON);
		expect(await store().chunks.read({ endpoint: site.endpoint, id, from: 0, maxBytes: 1, now: T0 })).toMatchObject({
			chunks: [ODD_JSON],
		});
	});

	it("D5: texts of 20 MB pass", async () => {
		const site = siteOf(store());
		const big = JSON.stringify({ text: "0123456789é".repeat(1_900_000) });
		await site.add({ input: big });
		const { jobs } = await site.take();
		expect(stringOf(jobs[0]?.input ?? "") === big).toBe(true);
		const id = jobs[0]?.job.id ?? "";
		expect(await site.report(id, { output: big })).toMatchObject({ ok: true });
		expect(stringOf((await site.get(id))?.output ?? "") === big).toBe(true);
	});

	it("report › ends the job with its texts, stamped", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const done = await site.report(id, { output: "[1]", now: T0 + 5 });
		expect(done).toMatchObject({
			ok: true,
			job: { state: "COMPLETED", startedAt: T0, endedAt: T0 + 5, worker: "w1", attempt: 1 },
		});
		expect(await site.get(id, T0 + 9)).toEqual({ job: done.ok && done.job, output: "[1]" });
		const failed = await site.running();
		await site.report(failed.id, { on: "fail", error: 'Traceback: "no"\n\u0001 é', output: "{}" });
		expect(await site.get(failed.id)).toMatchObject({
			job: { state: "FAILED" },
			error: 'Traceback: "no"\n\u0001 é',
			output: "{}",
		});
	});

	it("D16: report › from a worker that does not hold the job changes nothing", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		expect(await site.report(id, { worker: "w2" })).toMatchObject({ ok: false, why: "missing" });
		expect(await site.report("no-such-id")).toMatchObject({ ok: false, why: "missing" });
		await site.report(id, { output: "1" });
		expect(await site.report(id, { on: "fail", error: "late" })).toEqual({
			ok: false,
			why: "stale",
			state: "COMPLETED",
		});
		expect(await site.get(id)).toMatchObject({ job: { state: "COMPLETED" }, output: "1" });
	});

	it("D16: report › of an attempt that does not hold the job is stale, also while another worker runs it", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.move(id, "release", { attempt: 1 });
		expect(await site.report(id)).toEqual({ ok: false, why: "stale", state: "IN_QUEUE" });
		expect(await site.takeIds({ worker: "w2" })).toEqual([id]);
		expect(await site.report(id)).toEqual({ ok: false, why: "stale", state: "IN_PROGRESS" });
		expect(await site.report(id, { worker: "w2", output: "2" })).toMatchObject({ ok: true });
		expect((await site.get(id))?.output).toBe("2");
	});

	it("B.5: report › release returns a job that its worker never began, with the reason, without a loss", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const release = { on: "release", attempt: 1, workerEnd: "its start failed" } as const;
		expect(await site.report(id, { ...release, worker: "w2" })).toMatchObject({ ok: false, why: "missing" });
		expect(await site.report(id, release)).toMatchObject({ ok: true, job: { state: "IN_QUEUE", losses: 0 } });
		expect(await store().jobs.attempts({ endpoint: site.endpoint, id })).toMatchObject([
			{ attempt: 1, worker: "w1", end: "released", open: false, workerEnd: "its start failed" },
		]);
		expect(await site.takeIds()).toEqual([id]);
		expect(await site.report(id, { output: "1" })).toMatchObject({ ok: true, job: { state: "COMPLETED" } });
	});

	it("D6: progress › shows as output while the job runs, renews the lease, and goes with the attempt", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const progress = (worker: string, value: string, now: number) =>
			store().jobs.progress({ endpoint: site.endpoint, id, worker, value, now });
		expect(await progress("w1", '"half"', T0 + 10_000)).toBe(true);
		expect(await progress("w2", '"mine"', T0 + 10_000)).toBe(false);
		expect(await site.get(id, T0 + 10_000 + LEASE - 1)).toMatchObject({
			output: '"half"',
			job: { state: "IN_PROGRESS", leaseUntil: T0 + 10_000 + LEASE },
		});
		await site.move(id, "release", { attempt: 1, over: true, now: T0 + 11_000 });
		await site.take({ now: T0 + 11_000 });
		expect((await site.get(id, T0 + 11_000))?.output).toBeUndefined();
		await progress("w1", '"again"', T0 + 11_000);
		await site.report(id, { on: "fail", error: "no", now: T0 + 11_000 });
		expect(await progress("w1", '"late"', T0 + 11_000)).toBe(false);
		const ended = await site.get(id, T0 + 11_000);
		expect(ended?.output).toBeUndefined();
		expect(ended?.error).toBe("no");
	});

	it("D16: renew › a post that arrives renews the lease of its own job, if its worker holds it", async () => {
		const site = siteOf(store());
		const [{ id }, other] = [await site.running(), await site.running()];
		const renew = (worker: string, now: number) => store().jobs.renew({ endpoint: site.endpoint, id, worker, now });
		await renew("w1", T0 + 10_000);
		await renew("w2", T0 + 15_000);
		expect((await site.get(id, T0 + 15_000))?.job).toMatchObject({ leaseUntil: T0 + 10_000 + LEASE });
		expect(await site.state(other.id, T0 + LEASE)).toBe("IN_QUEUE");
		expect(await site.state(id, T0 + 10_000 + LEASE)).toBe("IN_QUEUE");
		await renew("w1", T0 + 11_000 + LEASE);
		expect(await site.state(id, T0 + 11_000 + LEASE)).toBe("IN_QUEUE");
		expect(await site.attempts(id)).toMatchObject([{ open: true, missed: 0, signAt: T0 + 11_000 + LEASE }]);
	});

	it("D16: move › release and lose name their attempt, else stale", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		for (const on of ["release", "lose"] as const) {
			expect(await site.move(id, on, { attempt: 2 })).toEqual({
				ok: false,
				why: "stale",
				state: "IN_PROGRESS",
			});
			expect(await site.move(id, on)).toMatchObject({ ok: false, why: "stale" });
		}
		expect(await site.move(id, "release", { attempt: 1 })).toMatchObject({
			ok: true,
			job: { state: "IN_QUEUE", losses: 0, returns: 0, attempt: 1 },
		});
		expect((await site.get(id))?.job.worker).toBeUndefined();
	});

	it("D10: move › cancel ends a waiting or running job once; an unknown one is missing", async () => {
		const site = siteOf(store());
		const waiting = await site.add();
		const cancelled = await site.move(waiting.id, "cancel", { now: T0 + 3 });
		expect(cancelled).toMatchObject({ ok: true, job: { state: "CANCELLED", endedAt: T0 + 3 } });
		expect(await site.move(waiting.id, "cancel")).toEqual({
			ok: false,
			why: "state",
			state: "CANCELLED",
		});
		expect(await site.move("no-such-id", "cancel")).toEqual({ ok: false, why: "missing" });
		expect(await site.takeIds()).toEqual([]);
		const running = await site.running();
		expect(await site.move(running.id, "cancel")).toMatchObject({
			ok: true,
			job: { state: "CANCELLED", worker: "w1" },
		});
		expect(await site.report(running.id, { output: "1" })).toEqual({
			ok: false,
			why: "stale",
			state: "CANCELLED",
		});
	});

	it("D37: move › retry clears texts, keeps the input, counts as a return and joins the end of the queue", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ input: '{"keep":true}' });
		await site.report(id, { on: "fail", error: "no", output: "{}" });
		const other = await site.add();
		const retried = await site.move(id, "retry", { now: T0 + 7 });
		expect(retried).toMatchObject({
			ok: true,
			job: { state: "IN_QUEUE", returns: 1, attempt: 1, queuedAt: T0 + 7, dueAt: T0 + 7 + TTL },
		});
		const shown = await site.get(id, T0 + 7);
		expect([shown?.output, shown?.error]).toEqual([undefined, undefined]);
		const { jobs } = await site.take({ limit: 5, now: T0 + 7 });
		expect(jobs.map(({ job }) => job.id)).toEqual([other.id, id]);
		expect(jobs[1]).toMatchObject({ input: '{"keep":true}', job: { attempt: 2 } });
	});

	it("D23: move › a retry is refused by the bound as a submission is, and only a retry that may happen", async () => {
		const site = siteOf(store());
		const failed = await site.running();
		await site.report(failed.id, { on: "fail", error: "no" });
		const done = await site.running();
		await site.report(done.id);
		for (let n = 0; n < 2; n += 1) await site.add();
		const retry = (id: string, queueBound: number) => site.move(id, "retry", { queueBound });
		expect(await retry(failed.id, 1)).toEqual({ ok: false, why: "full" });
		expect(await site.get(failed.id)).toMatchObject({
			job: { state: "FAILED", returns: 0 },
			error: "no",
		});
		expect(await retry(done.id, 1)).toEqual({ ok: false, why: "state", state: "COMPLETED" });
		expect(await retry("no-such-id", 1)).toEqual({ ok: false, why: "missing" });
		expect(await retry(failed.id, 2)).toMatchObject({ ok: true });
		expect(await site.counts()).toMatchObject({ inQueue: 3 });
	});

	it("D15, D23: move › the bound of a retry does not count lapsed jobs", async () => {
		const site = siteOf(store());
		const failed = await site.running();
		await site.report(failed.id, { on: "fail" });
		await site.add({ ttlMs: 10_000 });
		expect(await site.move(failed.id, "retry", { queueBound: 0, now: T0 + 9_999 })).toEqual({
			ok: false,
			why: "full",
		});
		expect(await site.move(failed.id, "retry", { queueBound: 0, now: T0 + 10_000 })).toMatchObject({
			ok: true,
		});
	});

	it("D39: cancelAll › ends what waits and runs, up to its limit, and reports whether any are left", async () => {
		const site = siteOf(store());
		const elsewhere = await siteOf(store()).add();
		const done = await site.running();
		await site.report(done.id);
		const ids = [(await site.running()).id];
		for (let n = 0; n < 4; n += 1) ids.push((await site.add({ lowPriority: n % 2 === 0 })).id);
		expect(await site.cancelAll(2)).toEqual({ cancelled: 2, left: true });
		expect(await site.cancelAll(2)).toEqual({ cancelled: 2, left: true });
		expect(await site.cancelAll(2)).toEqual({ cancelled: 1, left: false });
		expect(await site.cancelAll(2)).toEqual({ cancelled: 0, left: false });
		for (const id of ids) expect(await site.state(id)).toBe("CANCELLED");
		expect([
			await site.state(done.id),
			await store().jobs.get({ endpoint: elsewhere.endpoint, id: elsewhere.id, now: T0 }),
		]).toMatchObject(["COMPLETED", { job: { state: "IN_QUEUE" } }]);
		expect(await site.attempts(ids[0] ?? "")).toMatchObject([{ end: "cancelled", open: true }]);
	});

	it("D15, D39: cancelAll › what had passed before stays as it passed", async () => {
		const site = siteOf(store());
		const lapsed = await site.add({ ttlMs: 10_000 });
		const waiting = await site.add();
		expect(await site.cancelAll(9, T0 + 10_000)).toEqual({ cancelled: 1, left: false });
		expect([await site.state(lapsed.id, T0 + 10_000), await site.state(waiting.id, T0 + 10_000)]).toEqual([
			"TIMED_OUT",
			"CANCELLED",
		]);
	});

	it("identity › is the same at every call; ping › works", async () => {
		const first = await store().identity();
		expect(first).toMatch(/^[0-9a-f]{16,}$/);
		expect(await store().identity()).toBe(first);
		await expect(store().ping()).resolves.toBeUndefined();
	});
}
