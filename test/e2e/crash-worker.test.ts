/** A worker dies or falls silent in the middle of a job (D16). */
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { ended, jobAt, run, site, started } from "./site.ts";
import { until } from "../support/until.ts";

describe("a worker that dies in the middle of a job", () => {
	it.concurrent("D16: launched: its end is noticed at once and the job runs again first, counted as a retry", {
		timeout: 30_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { ours: place.launched({ workersMax: 1 }) } });
		const lost = await run(service, "ours", { until: "allowed" });
		const first = await started(place, lost);
		const other = await run(service, "ours", {});
		process.kill(first.pid, "SIGKILL");
		// Far below the lease of 20 s.
		const second = await until("the second run", () => place.runs(lost)[1], 10_000);
		expect(second.pid).not.toBe(first.pid);
		expect(place.runs(other)).toEqual([]);
		place.allow("allowed");
		expect(await ended(service, "ours", lost)).toMatchObject({
			status: "COMPLETED",
			retries: 1,
			workerId: second.worker,
		});
		expect(await ended(service, "ours", other)).toMatchObject({ status: "COMPLETED" });
		const { json } = await call(service.url, "/v2/ours/health");
		expect(json.jobs).toEqual({ inQueue: 0, inProgress: 0, completed: 2, failed: 0, retried: 1 });
		expect(service.stderr()).toMatch(/ended by SIGKILL/);
	});

	it.concurrent("D16: external: its lease ends, the job goes to the front of the queue and completes elsewhere", {
		timeout: 30_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: { theirs: { launcher: { type: "external" }, leaseMs: 2000 } },
		});
		const worker = await place.attach(service, "theirs");
		const lost = await run(service, "theirs", { until: "second" });
		const first = await started(place, lost);
		const [busy, other] = [await run(service, "theirs", { until: "allowed" }), await run(service, "theirs", {})];
		await place.attach(service, "theirs");
		await started(place, busy);
		worker.kill("SIGKILL");
		await until("the lost job to wait again", async () => (await jobAt(service, "theirs", lost)).status === "IN_QUEUE");
		place.allow("allowed");
		const second = await started(place, lost, 1);
		expect(second.worker).not.toBe(first.worker);
		expect(place.runs(other), "the lost job was taken before the one that waited").toEqual([]);
		place.allow("second");
		expect(await ended(service, "theirs", lost)).toMatchObject({
			status: "COMPLETED",
			retries: 1,
			workerId: second.worker,
		});
		for (const id of [busy, other]) expect(await ended(service, "theirs", id)).toMatchObject({ status: "COMPLETED" });
		expect((await call(service.url, "/v2/theirs/health")).json.jobs).toEqual({
			inQueue: 0,
			inProgress: 0,
			completed: 3,
			failed: 0,
			retried: 1,
		});
	});

	it.concurrent("D16: a handler that blocks its process for longer than the lease keeps its job", {
		timeout: 30_000,
	}, async (test) => {
		const BLOCK_MS = 4000;
		const place = site(test);
		const service = await place.serve({
			endpoints: { ours: place.launched({ workersMax: 2, workersMin: 2, leaseMs: 2000 }) },
		});
		const id = await run(service, "ours", { block: BLOCK_MS });
		const job = await ended(service, "ours", id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job.executionTime).toBeGreaterThanOrEqual(BLOCK_MS);
		expect(job).not.toHaveProperty("retries");
		expect(place.runs(id)).toHaveLength(1);
	});
});
