/** A plain worker: it takes a job, works, posts the result, and sends no pings (D16 Late reports). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench, idsOf } from "../../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";
import { call } from "../../support/service.ts";
import { request } from "../../support/transport.ts";

/** `leaseMs` by default. */
const LEASE_MS = 20_000;

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

const held = async (id: string) => (await b.service.engine.jobs.details({ endpoint: b.ep, id })).job;

/** Takes the job, works for `ms` without a sign, and posts. */
async function works(worker: SdkProtocol, id: string, ms: number, output: string): Promise<void> {
	await b.takes(worker, id);
	await b.pass(ms);
	expect((await worker.done(id, { output })).status).toBe(200);
}

describe("D16: a job longer than the lease", () => {
	it.each([30_000, 90_000])("of %i ms at the only worker runs once, and its result counts", async (ms) => {
		const worker = await b.worker();
		const id = await b.submit();
		await works(worker, id, ms, "first");
		expect(await b.status(id)).toEqual({
			id,
			status: "COMPLETED",
			delayTime: 0,
			executionTime: ms,
			output: "first",
			workerId: worker.id,
			retries: 1,
		});
		expect(b.of("job.started")).toHaveLength(1);
		expect(b.of("job.late")).toMatchObject([{ id, worker: worker.id }]);
		expect((await b.call("health")).json.jobs).toMatchObject({ completed: 1, failed: 0, inQueue: 0, retried: 1 });
	});

	it("runs again where another worker is free when the lease ends, and the first result is kept", async () => {
		const [first, second] = [await b.worker(), await b.worker()];
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(LEASE_MS);
		await b.takes(second, id);
		await b.pass(10_000);
		await first.done(id, { output: "first" });
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", workerId: second.id });
		await b.pass(15_000);
		await second.done(id, { output: "second" });
		const ended = await b.status(id);
		expect(ended).toMatchObject({ status: "COMPLETED", output: "second", executionTime: 25_000, retries: 2 });
		await first.done(id, { output: "again" });
		expect(await b.status(id)).toEqual(ended);
	});

	it("fails by its third loss where two idle workers lose it to each other, although no run fails", async () => {
		const [first, second] = [await b.worker(), await b.worker()];
		const id = await b.submit();
		await b.takes(first, id);
		await b.pass(LEASE_MS);
		await b.takes(second, id);
		await b.pass(LEASE_MS / 2);
		await first.done(id, { output: "first" });
		await b.pass(LEASE_MS / 2);
		await b.takes(first, id);
		await b.pass(LEASE_MS / 2);
		await second.done(id, { output: "second" });
		await b.pass(LEASE_MS / 2);
		expect(await b.status(id)).toMatchObject({ status: "FAILED", retries: 2 });
		const warned = b.of("worker.warned").map(({ worker }) => worker);
		expect(warned).toEqual([first.id, second.id]);
	});

	it("names the worker once that sends no pings, in the log and on its page, until it pings", async () => {
		const worker = await b.worker();
		for (const output of ["first", "second"]) await works(worker, await b.submit(), 30_000, output);
		const warning = "sends no pings: jobs that take over 20 s are started again; raise leaseMs of the endpoint";
		expect(b.of("worker.warned")).toEqual([{ endpoint: b.ep, worker: worker.id, warning }]);
		const shown = async (): Promise<unknown> =>
			(await call(b.url, `/v1/endpoints/${b.ep}/workers`)).json.workers[0].warning;
		expect(await shown()).toBe(`worker ${worker.id} ${warning}`);
		await worker.ping();
		expect(await shown()).toBeUndefined();
	});

	it("is no reason to name a worker that pings or whose end is known", async () => {
		const worker = await b.worker();
		await worker.ping();
		await works(worker, await b.submit(), 30_000, "first");
		expect(b.of("job.returned")).toHaveLength(1);
		expect(b.of("worker.warned")).toEqual([]);
	});

	it("keeps its lease while the body of its result arrives, and no other job does", async () => {
		const worker = await b.worker();
		const [id, other] = [await b.submit(), await b.submit()];
		expect(idsOf(await worker.takeBatch({ size: 2 }))).toEqual([id, other]);
		const headers = { authorization: worker.env["RUNPOD_AI_API_KEY"]! };
		const { promise: answered, resolve } = Promise.withResolvers<number>();
		const url = `${b.url}/worker/${b.ep}/job-done/${worker.id}/${id}`;
		const post = request(url, { method: "POST", headers }, (res) => resolve(res.resume().statusCode!));
		post.write('{"output":"');
		for (let piece = 0; piece < 4; piece += 1) {
			await b.pass(15_000);
			post.write("a");
			await expect.poll(async () => (await held(id))?.leaseUntil).toBe(b.clock.now() + LEASE_MS);
		}
		post.end('"}');
		expect(await answered).toBe(200);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "aaaa", executionTime: 60_000 });
		expect(await b.status(id)).not.toHaveProperty("retries");
		expect(await b.status(other)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	});

	it("shows in the attempts and the timeline which attempt went on", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await works(worker, id, 30_000, "first");
		const { json: job } = await call(b.url, `/v1/endpoints/${b.ep}/jobs/${id}`);
		expect(job.attempts).toMatchObject([
			{ attempt: 1, end: "lost", open: false },
			{ attempt: 2, end: "completed", continues: 1 },
		]);
		expect(job.timeline.map(({ event }: { event: string }) => event)).toEqual([
			"submitted",
			"started",
			"lost",
			"completed",
		]);
	});
});
