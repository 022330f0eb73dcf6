/** What keeps a lease and what proves a job lost (D16 Lease, Loss; protocol B.7). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench, idsOf } from "../../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";

const LEASE_MS = 20_000;
const PING_MS = 5000;

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

const retried = async (): Promise<number> => (await b.call(`health`)).json.jobs.retried;

describe("D16: the lease", () => {
	it("of a silent worker ends after leaseMs: the job is in FRONT of the queue, retries 1", async () => {
		const [silent, other] = [await b.worker(), await b.worker()];
		const lost = await b.submit();
		const waiting = await b.submit();
		await b.takes(silent, lost);
		await b.clock.advance(LEASE_MS - 1);
		expect(await b.status(lost)).toMatchObject({
			status: "IN_PROGRESS",
			executionTime: LEASE_MS - 1,
		});
		expect(await retried()).toBe(0);
		await b.clock.advance(1);
		const back = await b.status(lost);
		expect(back).toEqual({
			id: lost,
			status: "IN_QUEUE",
			delayTime: 0,
			executionTime: 0,
			retries: 1,
		});
		expect(await retried()).toBe(1);
		expect(idsOf(await other.takeBatch({ size: 2 }))).toEqual([lost, waiting]);
		expect(await b.status(lost)).toMatchObject({
			status: "IN_PROGRESS",
			retries: 1,
			workerId: other.id,
		});
	});

	it("that ends wakes a waiting take at once", async () => {
		const [silent, other] = [await b.worker(), await b.worker()];
		const id = await b.submit();
		await b.takes(silent, id);
		const { answer } = await b.held(other, (signal) => other.take({ signal }));
		await b.clock.advance(LEASE_MS);
		expect(idsOf(await b.reached(answer))).toEqual([id]);
	});

	it("follows leaseMs of the endpoint, 2000 at least", async () => {
		await b.fresh({ leaseMs: 2000 });
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.clock.advance(1999);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
	});

	it("several jobs of one worker go back in their old order, before the others", async () => {
		const [silent, other] = [await b.worker(), await b.worker()];
		const ids = [];
		for (let n = 0; n < 4; n += 1) ids.push(await b.submit());
		expect(idsOf(await silent.takeBatch({ size: 3 }))).toEqual(ids.slice(0, 3));
		await b.clock.advance(LEASE_MS);
		expect(idsOf(await other.takeBatch({ size: 9 }))).toEqual(ids);
	});

	const renewals: [string, (worker: Awaited<ReturnType<Bench["worker"]>>, id: string) => Promise<unknown>][] = [
		["a ping that names it among others", (worker, id) => worker.ping(["a", id, "b-2"])],
		["a chunk", (worker, id) => worker.chunk(id, { output: "same" })],
		["progress", (worker, id) => worker.done(id, { status: "IN_PROGRESS", output: 1 })],
	];
	it.each(renewals)("is renewed by %s", async (_, renew) => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		for (let n = 0; n < 3; n += 1) {
			await b.clock.advance(LEASE_MS - 1);
			await renew(worker, id);
		}
		await b.clock.advance(LEASE_MS - 1);
		const running = await b.status(id);
		expect(running).toMatchObject({ status: "IN_PROGRESS", executionTime: 4 * (LEASE_MS - 1) });
		expect(running).not.toHaveProperty("retries");
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	});

	it("is not renewed by a ping of another worker that names it, nor by polls of a worker that pings", async () => {
		const [worker, other] = [await b.worker(), await b.worker()];
		await worker.ping();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.held(worker, (signal) => worker.stop({ signal }));
		await b.clock.advance(LEASE_MS - 1);
		await other.ping([id]);
		await other.chunk(id, { output: 1 });
		await other.done(id, { status: "IN_PROGRESS", output: 1 });
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	});

	it("of a worker that never pinged is kept by its held polls, here a take for its second slot", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		for (let n = 0; n < 3; n += 1) {
			const { answer } = await b.held(worker, (signal) => worker.take({ busy: true, signal }));
			await b.pass(50_000);
			expect((await b.reached(answer)).status).toBe(204);
		}
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", executionTime: 150_000 });
		await b.clock.advance(LEASE_MS);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	});
});

describe("D16: proof that a job is lost", () => {
	it("two successive pings without it, the first at least one interval after hand-out", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.clock.advance(PING_MS);
		await worker.ping();
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.clock.advance(PING_MS);
		await worker.ping(["another"]);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
		// Two pings are proof enough that nothing of it runs there: the same worker may have it.
		await b.takes(worker, id, { busy: true });
	});

	it("a ping sooner than one interval after hand-out does not count: its list may lag", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		for (let n = 0; n < 4; n += 1) {
			await b.clock.advance(1249);
			await worker.ping();
		}
		await b.clock.advance(PING_MS - 4 * 1249 - 1);
		await worker.ping();
		await b.clock.advance(PING_MS);
		await worker.ping();
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.clock.advance(PING_MS);
		await worker.ping();
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	});

	it("pings without it that are not successive prove nothing", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		for (let n = 0; n < 4; n += 1) {
			await b.clock.advance(PING_MS);
			await worker.ping(n % 2 === 0 ? [] : [id]);
		}
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
	});

	it.each([
		["a ping that names it", (worker: SdkProtocol, id: string) => worker.ping([id])],
		[
			"a take with job_in_progress=1",
			async (worker: SdkProtocol) => void (await b.held(worker, (signal) => worker.take({ busy: true, signal }))),
		],
	])("two pings without it, where this server did not hand it out but saw %s", async (_, sign) => {
		await b.fresh({ leaseMs: 60_000 });
		const worker = await b.worker();
		await (await b.held(worker, (signal) => worker.take({ signal }))).hangUp();
		const id = await b.submit();
		await b.takes(worker, id, { busy: true });
		// So it stands on a server that the worker polled before another one handed it the job.
		const seen = b.service.engine.workers.recordCall(worker);
		for (const held of seen.held.keys()) seen.held.delete(held);
		seen.knownIdle = true;
		await b.clock.advance(PING_MS);
		await sign(worker, id);
		// A ping that named it counts for 20 s.
		for (let n = 0; n < 6; n += 1) {
			await b.clock.advance(PING_MS);
			await worker.ping();
		}
		expect(await b.status(id)).toHaveProperty("retries");
	});

	it("only the jobs left out are lost, the others stay", async () => {
		const worker = await b.worker();
		const ids = [await b.submit(), await b.submit(), await b.submit()];
		await worker.takeBatch({ size: 3 });
		for (let n = 0; n < 2; n += 1) {
			await b.clock.advance(PING_MS);
			await worker.ping([ids[2]!, ids[0]!]);
		}
		expect(await Promise.all(ids.map(async (id) => (await b.status(id)).status))).toEqual([
			"IN_PROGRESS",
			"IN_QUEUE",
			"IN_PROGRESS",
		]);
	});

	it("a take with job_in_progress=0 proves nothing before the lease ends; then it gets the job again", async () => {
		const worker = await b.worker();
		await worker.ping();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.clock.advance(1);
		const { answer } = await b.held(worker, (signal) => worker.take({ signal }));
		await b.pass(LEASE_MS - 1000);
		expect(await b.status(id)).not.toHaveProperty("retries");
		await b.pass(PING_MS);
		expect(idsOf(await b.reached(answer))).toEqual([id]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
		expect(b.of("job.started").map(({ attempt }) => attempt)).toEqual([1, 2]);
	});

	it("a take with job_in_progress=1 is none", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.clock.advance(1);
		await b.held(worker, (signal) => worker.take({ busy: true, signal }));
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
	});

	it("three losses make it FAILED, with the history in error, and no worker gets it again", async () => {
		const [first, second, other] = [await b.worker(), await b.worker(), await b.worker()];
		const id = await b.submit();
		const settled = b.next("job.settled", (facts) => facts.id === id);
		const waited = b.call(`status-sync/${id}?wait=300000`);
		for (const worker of [first, second, first]) {
			await b.takes(worker, id);
			await b.clock.advance(PING_MS);
			await worker.ping();
			await b.clock.advance(PING_MS);
			await worker.ping();
		}
		await b.reached(settled);
		const ended = await b.status(id);
		expect(ended).toMatchObject({ status: "FAILED", retries: 2, workerId: first.id });
		expect(ended.error).toContain(
			`attempt 1 on worker ${first.id}, attempt 2 on worker ${second.id}, attempt 3 on worker ${first.id}`,
		);
		expect((await b.reached(waited)).json).toMatchObject({ status: "FAILED", error: ended.error });
		expect((await b.call(`health`)).json.jobs).toMatchObject({
			failed: 1,
			inQueue: 0,
			inProgress: 0,
		});
		const { answer } = await b.held(other, (signal) => other.take({ signal }));
		await b.clock.advance(50_000);
		expect((await b.reached(answer)).status).toBe(204);
	});

	it("D15: a lost job's ttl starts again", async () => {
		const worker = await b.worker();
		const id = await b.submit({ input: {}, policy: { ttl: 30_000 } });
		await b.clock.advance(29_000);
		await b.takes(worker, id);
		await b.pass(LEASE_MS);
		await b.clock.advance(29_999);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({
			status: "TIMED_OUT",
			error: expect.stringContaining("ttl of 30000 ms"),
		});
	});
});
