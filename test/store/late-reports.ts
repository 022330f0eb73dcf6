/** Cases: posts about a job that was lost by their worker (D16 Late reports). */
import { describe, expect, it } from "vitest";
import type { Job } from "../../src/kernel/core/jobs/job.ts";
import type { Bed } from "./index.ts";
import { LEASE, type Site, siteOf, T0, TIMEOUT } from "./site.ts";

/** When the post arrives: the lease has ended, and no deadline has passed. */
const LATE = T0 + LEASE + 5000;

/** A job whose lease at worker wa has ended. */
async function lost(site: Site): Promise<Job> {
	const job = await site.running({ worker: "wa", webhook: "https://example.org/hook" });
	expect(await site.state(job.id, LATE)).toBe("IN_QUEUE");
	return job;
}

const append = (site: Site, id: string, chunks: readonly string[], now: number, attempt?: number) =>
	site.store.chunks.append({ endpoint: site.endpoint, id, worker: "wa", attempt, chunks, unlessLast: false, now });

export function lateReportCases({ store }: Bed): void {
	it("D16: a late result of a job that waits is its result, with the times of its run", async () => {
		const site = siteOf(store());
		const { id } = await lost(site);
		const done = await site.report(id, { worker: "wa", output: "[1]", now: LATE });
		expect(done).toMatchObject({ ok: true, late: true });
		expect(await site.get(id, LATE)).toMatchObject({
			output: "[1]",
			job: { state: "COMPLETED", worker: "wa", attempt: 2, queuedAt: T0, startedAt: T0, endedAt: LATE, returns: 1 },
		});
		expect(await site.attempts(id)).toMatchObject([{ attempt: 1, end: "lost", endedAt: T0 + LEASE, open: false }]);
		expect(await site.counts(LATE)).toEqual({ inQueue: 0, inProgress: 0, completed: 1, failed: 0, retried: 1 });
		expect(await site.takeIds({ worker: "wb", now: LATE })).toEqual([]);
	});

	it("D16: a late failure is the end of the job, as one in time", async () => {
		const site = siteOf(store());
		const { id } = await lost(site);
		expect(await site.report(id, { worker: "wa", on: "fail", error: "no", now: LATE })).toMatchObject({ ok: true });
		expect(await site.get(id, LATE)).toMatchObject({ error: "no", job: { state: "FAILED", losses: 1 } });
		expect(await site.move(id, "retry", { now: LATE + 1 })).toMatchObject({ ok: true });
		expect(await site.attempts(id)).toMatchObject([{ end: "lost" }, { attempt: 2, end: "failed", startedAt: T0 }]);
		expect(await site.takeIds({ worker: "wa", now: LATE + 2 })).toEqual([id]);
	});

	it("D16: a result counts after the lease ended and a take said that nothing runs", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		expect(await site.idle({ before: T0 + 1, now: T0 + LEASE })).toMatchObject({ over: [id] });
		expect(await site.report(id, { output: "1", now: T0 + LEASE + 1 })).toMatchObject({ ok: true, late: true });
	});

	it("D16: a second late report changes nothing", async () => {
		const site = siteOf(store());
		const { id } = await lost(site);
		await site.report(id, { worker: "wa", output: "1", now: LATE });
		expect(await site.report(id, { worker: "wa", output: "2", now: LATE })).toMatchObject({ ok: false, why: "stale" });
		expect(await site.get(id, LATE)).toMatchObject({ output: "1" });
	});

	it("D16: a lost attempt goes on with a progress value or its first chunk, and may be lost again", async () => {
		const site = siteOf(store());
		const { id } = await lost(site);
		const progress = { endpoint: site.endpoint, id, worker: "wa", value: "1", now: LATE };
		expect(await store().jobs.progress(progress)).toBe(true);
		expect(await site.get(id, LATE)).toMatchObject({ output: "1", job: { state: "IN_PROGRESS", attempt: 2 } });
		await site.move(id, "lose", { attempt: 2, now: LATE + 10 });
		expect(await append(site, id, ["a"], LATE + 20)).toMatchObject({ ok: true, attempt: 3 });
		expect(await site.report(id, { worker: "wa", now: LATE + 30 })).toMatchObject({ ok: true, job: { attempt: 3 } });
		expect((await site.get(id, LATE + 30))?.job).toMatchObject({ queuedAt: T0, startedAt: T0, losses: 2 });
	});

	it("D7, D54: the worker of a lost attempt that goes on names it by its first number", async () => {
		const site = siteOf(store());
		const { id } = await lost(site);
		expect(await append(site, id, ["a"], LATE, 1)).toMatchObject({ ok: true, attempt: 2 });
		expect(await append(site, id, ["b"], LATE, 1)).toMatchObject({ ok: true, attempt: 2 });
		const given = { on: "return", workerEnd: "no server", worker: "wa", attempt: 1, now: LATE } as const;
		expect(await site.report(id, given)).toMatchObject({ ok: true, job: { state: "IN_QUEUE" } });
		await site.take({ worker: "wa", now: LATE + 1 });
		for (const attempt of [1, 2]) expect(await append(site, id, ["c"], LATE + 1, attempt)).toMatchObject({ ok: false });
		expect(await append(site, id, ["d"], LATE + 1, 3)).toMatchObject({ ok: true, attempt: 3 });
	});

	it("D7: a late chunk of an attempt before the lost one does not give the job back to its worker", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ worker: "wa" });
		await site.report(id, { on: "return", workerEnd: "no server", worker: "wa" });
		await site.take({ worker: "wa", now: T0 + 1 });
		const now = LATE + 1;
		expect(await append(site, id, ["a"], now, 1)).toEqual({ ok: false, why: "stale" });
		expect(await site.state(id, now)).toBe("IN_QUEUE");
		expect(await append(site, id, ["a"], now, 2)).toMatchObject({ ok: true, attempt: 3 });
	});

	it("D15: a late run keeps its execution timeout", async () => {
		const site = siteOf(store());
		const { id } = await lost(site);
		await append(site, id, ["a"], LATE);
		const end = T0 + TIMEOUT;
		expect((await site.get(id, end))?.job).toMatchObject({ state: "TIMED_OUT", endedAt: end, startedAt: T0 });
	});

	it("D16: a late result counts after a take by another worker whose answer could not be delivered", async () => {
		const site = siteOf(store());
		const { id } = await lost(site);
		for (const attempt of [2, 3]) {
			await site.take({ worker: "wb", now: LATE });
			await site.move(id, "release", { attempt, over: true, now: LATE + attempt });
		}
		const now = LATE + 10;
		expect(await site.report(id, { worker: "wa", output: "1", now })).toMatchObject({ ok: true, late: true });
		expect(await site.get(id, now)).toMatchObject({
			output: "1",
			job: { state: "COMPLETED", worker: "wa", attempt: 4, queuedAt: T0, startedAt: T0, endedAt: now },
		});
		expect(await site.attempts(id)).toMatchObject([{ end: "lost" }, { end: "released" }, { end: "released" }]);
	});

	it("D50: a lost attempt that goes on has the release of its worker again", async () => {
		const site = siteOf(store());
		const given = { worker: "wa", release: 3, now: LATE };
		const { endpoint } = site;
		const [reported, progressed, streamed] = [await lost(site), await lost(site), await lost(site)];
		expect(await site.report(reported.id, given)).toMatchObject({ ok: true, job: { release: 3 } });
		await store().jobs.progress({ ...given, endpoint, id: progressed.id, value: "1" });
		await store().chunks.append({ ...given, endpoint, id: streamed.id, chunks: ["a"], unlessLast: false });
		for (const { id } of [progressed, streamed])
			expect((await site.get(id, LATE))?.job).toMatchObject({ state: "IN_PROGRESS", release: 3 });
	});

	describe("D16: a late report is dropped", () => {
		it.each<[string, (site: Site, id: string) => Promise<unknown>, number?]>([
			["while another worker has the job", (site) => site.take({ worker: "wb", now: LATE })],
			[
				"after another worker had it",
				async (site, id) => {
					await site.take({ worker: "wb", now: LATE });
					await site.move(id, "lose", { attempt: 2, now: LATE });
				},
			],
			[
				"while another worker may run it although it was given back",
				async (site, id) => {
					await site.take({ worker: "wb", now: LATE });
					await site.move(id, "release", { attempt: 2, now: LATE });
				},
			],
			["of a job that was cancelled", (site, id) => site.move(id, "cancel", { now: LATE })],
			[
				"of a job that failed because it was lost too often",
				async (site, id) => {
					for (const attempt of [2, 3]) {
						await site.take({ worker: "wb", now: LATE });
						await site.move(id, "lose", { attempt, over: true, now: LATE });
					}
				},
			],
			[
				"of a job that was retried meanwhile",
				async (site, id) => {
					await site.take({ worker: "wb", now: LATE });
					await site.report(id, { worker: "wb", on: "fail", now: LATE });
					await site.move(id, "retry", { now: LATE });
				},
			],
			["after the execution timeout", () => Promise.resolve(), T0 + TIMEOUT],
			["of a start that failed", () => Promise.resolve()],
		])("%s", async (what, happens, now = LATE) => {
			const site = siteOf(store());
			const { id } = await lost(site);
			await happens(site, id);
			const before = await site.get(id, now);
			const on = what.includes("start") ? ({ on: "release", attempt: 1 } as const) : {};
			expect(await site.report(id, { worker: "wa", output: "9", now, ...on })).toMatchObject({ why: "stale" });
			expect(await site.get(id, now)).toEqual(before);
		});

		it("of a retried job whose last attempt was lost before the retry", async () => {
			const site = siteOf(store());
			const { id } = await site.running({ worker: "wa" });
			for (const attempt of [1, 2, 3]) {
				await site.move(id, "lose", { attempt, over: true });
				if (attempt < 3) await site.take({ worker: "wa" });
			}
			await site.move(id, "retry");
			expect(await site.report(id, { worker: "wa" })).toMatchObject({ why: "stale" });
			expect(await site.state(id)).toBe("IN_QUEUE");
		});

		it("D7: of a job that has chunks, since some of them were deleted", async () => {
			const site = siteOf(store());
			const { id } = await site.running({ worker: "wa" });
			await append(site, id, ["a"], T0);
			const late = T0 + LEASE + 1;
			expect(await append(site, id, ["b"], late)).toMatchObject({ ok: false, why: "stale" });
			expect(await site.report(id, { worker: "wa", now: late })).toMatchObject({ why: "stale" });
			expect(await site.state(id, late)).toBe("IN_QUEUE");
		});
	});
}
