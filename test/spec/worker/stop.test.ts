/**
 * Cancel and execution timeout really stop the work: the stop channel, its repeats, and what is
 * known afterwards (D15, D18, D26; protocol B.8).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench, stopsOf } from "../../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";
import { untilTrue } from "../../support/until.ts";

const GRACE_MS = 5000;
const PING_MS = 5000;
const LEASE_MS = 20_000;

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

const cancel = async (id: string): Promise<any> => (await b.call(`cancel/${id}`, { method: "POST" })).json;

/** A job in the hands of a worker. */
async function running(worker: SdkProtocol, body: object = { input: {} }): Promise<string> {
	const id = await b.submit(body);
	await b.takes(worker, id, { busy: true });
	return id;
}

/** Polls the stop channel, which must be held for `ms` and answer then. */
async function stopsAfter(worker: SdkProtocol, ms: number): Promise<string[]> {
	let answered = false;
	const { answer } = await b.held(worker, (signal) => worker.stop({ signal }));
	void answer.then(
		() => (answered = true),
		() => {},
	);
	await b.clock.advance(ms - 1);
	expect(answered, `answered within ${ms - 1} ms`).toBe(false);
	await b.clock.advance(1);
	return stopsOf(await b.reached(answer));
}

describe("D18: cancel of a running job", () => {
	it("answers the open stop poll at once with its id", async () => {
		const worker = await b.worker();
		const id = await running(worker);
		const { answer } = await b.held(worker, (signal) => worker.stop({ signal }));
		expect(await cancel(id)).toEqual({ id, status: "CANCELLED" });
		const { status, type, text } = await answer;
		expect({ status, type, text }).toEqual({
			status: 200,
			type: "application/json",
			text: JSON.stringify({ jobsToStop: [id] }),
		});
	});

	it("answers the next stop poll at once when none was open", async () => {
		const worker = await b.worker();
		const id = await running(worker);
		await cancel(id);
		expect(stopsOf(await worker.stop())).toEqual([id]);
	});

	it("D26: is repeated on each poll, once per second, until a ping omits it that cannot lag", async () => {
		const worker = await b.worker();
		await worker.ping();
		const id = await running(worker);
		await cancel(id);
		expect(stopsOf(await worker.stop())).toEqual([id]);
		expect(await stopsAfter(worker, 1000)).toEqual([id]);
		await worker.ping([id]);
		expect(await stopsAfter(worker, 1000)).toEqual([id]);
		// Its list may still lag behind a take: not believed yet.
		await worker.ping();
		expect(await stopsAfter(worker, 1000)).toEqual([id]);
		await b.clock.advance(PING_MS - 2000);
		await worker.ping();
		expect(await stopsAfter(worker, 50_000)).toEqual([]);
	});

	it.each([
		["its late report", (worker: SdkProtocol, id: string) => worker.done(id, { output: 1 })],
		[
			"a take with job_in_progress=0, where no ping named the job",
			async (worker: SdkProtocol) => (await b.held(worker, (signal) => worker.take({ signal }))).hangUp(),
		],
	])("ends with %s", async (_, word) => {
		const worker = await b.worker();
		const id = await running(worker);
		await cancel(id);
		expect(stopsOf(await worker.stop())).toEqual([id]);
		await b.clock.advance(1);
		await word(worker, id);
		expect(await stopsAfter(worker, 50_000)).toEqual([]);
		expect(await b.status(id)).toMatchObject({ status: "CANCELLED" });
	});

	it("names all jobs to be stopped, and not the others of that worker", async () => {
		const worker = await b.worker();
		const ids = [await running(worker), await running(worker), await running(worker)];
		await cancel(ids[0]!);
		await cancel(ids[2]!);
		expect(stopsOf(await worker.stop())).toEqual([ids[0], ids[2]]);
	});

	it("sends nothing to other workers, and nothing at all for a waiting job", async () => {
		const [worker, other] = [await b.worker(), await b.worker()];
		const poll = await b.held(other, (signal) => other.stop({ signal }));
		await cancel(await running(worker));
		await cancel(await b.submit());
		await b.clock.advance(50_000);
		expect(stopsOf(await b.reached(poll.answer))).toEqual([]);
		expect(b.of("stop.sent")).toHaveLength(1);
	});

	it("the worker is free for other work at once", async () => {
		const worker = await b.worker();
		await cancel(await running(worker));
		const next = await b.submit();
		await b.takes(worker, next, { busy: true });
	});

	it("of a worker started by others is reported as not confirmed after stopGraceMs", async () => {
		const worker = await b.worker();
		const id = await running(worker);
		await cancel(id);
		await worker.stop();
		await b.clock.advance(GRACE_MS - 1);
		await worker.ping([id]);
		expect(b.of("stop.unconfirmed")).toEqual([]);
		await b.clock.advance(1);
		expect(b.of("stop.unconfirmed")).toEqual([{ endpoint: b.ep, id, worker: worker.id }]);
		// Not confirmed is not given up.
		expect(stopsOf(await worker.stop())).toEqual([id]);
	});

	it("is confirmed when the worker's word came within the grace", async () => {
		const worker = await b.worker();
		const id = await running(worker);
		await cancel(id);
		await b.clock.advance(GRACE_MS - 1);
		await worker.done(id, {});
		await b.clock.advance(GRACE_MS);
		expect(b.of("stop.unconfirmed")).toEqual([]);
	});
});

describe("D15: executionTimeout", () => {
	it("ends the job TIMED_OUT at its moment with a sentence, and stops the run", async () => {
		const worker = await b.worker();
		const id = await running(worker, { input: {}, policy: { executionTimeout: 6000 } });
		const { answer } = await b.held(worker, (signal) => worker.stop({ signal }));
		await b.clock.advance(5999);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({
			status: "TIMED_OUT",
			executionTime: 6000,
			workerId: worker.id,
			error: expect.stringMatching(/executionTimeout of 6000 ms.*\.$/),
		});
		expect(stopsOf(await b.reached(answer))).toEqual([id]);
		expect((await worker.done(id, { output: "late" })).status).toBe(200);
		expect(await b.status(id)).toMatchObject({ status: "TIMED_OUT", executionTime: 6000 });
	});

	it("is not put off by pings, chunks or progress", async () => {
		const worker = await b.worker();
		const id = await running(worker, { input: {}, policy: { executionTimeout: 6000 } });
		await b.clock.advance(5999);
		await worker.ping([id]);
		await worker.chunk(id, { output: 1 });
		await worker.done(id, { status: "IN_PROGRESS", output: 1 });
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({ status: "TIMED_OUT", executionTime: 6000 });
		expect(await worker.chunk(id, { output: 2 })).toMatchObject({ status: 200 });
		expect((await b.call(`stream/${id}?offset=0`)).json).toHaveLength(1);
	});

	it("runs from the hand-out of each attempt", async () => {
		const [lost, worker] = [await b.worker(), await b.worker()];
		const id = await running(lost, { input: {}, policy: { executionTimeout: 25_000 } });
		await b.pass(20_000);
		await b.takes(worker, id);
		await b.clock.advance(15_000);
		await worker.ping([id]);
		await b.clock.advance(9999);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", executionTime: 24_999 });
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({ status: "TIMED_OUT", executionTime: 25_000 });
	});
});

describe("B.8: SDK workers that get a stop", () => {
	it("an async handler sees the cancel, posts nothing, and the worker goes on with other work", async () => {
		const sdk = await b.sdk({
			pingEveryMs: 0,
			handler: ({ input }, { cancelled }) =>
				input.quick
					? "quick"
					: new Promise((resolve) => cancelled.addEventListener("abort", () => resolve("swallowed"))),
		});
		const id = await b.submit();
		await untilTrue(() => sdk.began.includes(id));
		await untilTrue(() => b.service.engine.workers.recordCall(sdk.protocol).stops > 0);
		await cancel(id);
		await untilTrue(() => sdk.held().length === 0);
		const settled = b.next("job.settled");
		const next = await b.submit({ input: { quick: true } });
		expect(await b.reached(settled)).toMatchObject({ id: next, state: "COMPLETED" });
		expect(sdk.protocol.sent.filter(({ path }) => path.includes(`job-done/${sdk.protocol.id}/${id}`))).toEqual([]);
		expect(await b.status(id)).toMatchObject({ status: "CANCELLED" });
	});

	it("a handler that swallows the cancel reports a result, which is dropped", async () => {
		const sdk = await b.sdk({
			swallows: true,
			handler: (_, { cancelled }) =>
				new Promise((resolve) => cancelled.addEventListener("abort", () => resolve("swallowed"))),
		});
		const id = await b.submit();
		await untilTrue(() => sdk.began.includes(id));
		await untilTrue(() => b.service.engine.workers.recordCall(sdk.protocol).stops > 0);
		const dropped = b.next("report.dropped");
		await cancel(id);
		expect(await b.reached(dropped)).toMatchObject({ id, why: "stale" });
		const cancelled = await b.status(id);
		expect(cancelled).toMatchObject({ status: "CANCELLED" });
		expect(cancelled).not.toHaveProperty("output");
	});

	it("a blocking handler runs on, its thread goes on naming the job, and nothing is posted at its end", async () => {
		let finish = (): void => {};
		const sdk = await b.sdk({
			blocking: true,
			pingEveryMs: 0,
			handler: () => new Promise<string>((resolve) => (finish = () => resolve("done"))),
		});
		const id = await b.submit();
		await untilTrue(() => sdk.began.includes(id));
		await cancel(id);
		await b.clock.advance(GRACE_MS);
		expect(await sdk.ping()).toBe(200);
		expect(sdk.held()).toEqual([id]);
		expect(b.of("stop.unconfirmed")).toMatchObject([{ id }]);
		finish();
		await b.reached(untilTrue(() => sdk.held().length === 0));
		expect(sdk.protocol.sent.filter(({ method }) => method === "POST")).toEqual([]);
		// Its next take says that nothing runs there: the stop is over a lease after the ping that named it.
		const seen = b.service.engine.workers.recordCall(sdk.protocol);
		await b.reached(untilTrue(() => seen.takes > 0));
		await b.pass(LEASE_MS + PING_MS);
		await b.reached(untilTrue(() => seen.stopping.size === 0));
		expect(await b.status(id)).toMatchObject({ status: "CANCELLED" });
	});

	it("an old SDK without stop channel runs on, and its late result is dropped", async () => {
		let finish = (): void => {};
		const sdk = await b.sdk({
			version: "1.9.1",
			handler: () => new Promise<string>((resolve) => (finish = () => resolve("done"))),
		});
		const id = await b.submit();
		await untilTrue(() => sdk.began.includes(id));
		await cancel(id);
		await b.clock.advance(GRACE_MS);
		expect(b.of("stop.unconfirmed")).toMatchObject([{ id }]);
		const dropped = b.next("report.dropped");
		finish();
		expect(await b.reached(dropped)).toMatchObject({ id, why: "stale" });
		expect(await b.status(id)).toMatchObject({ status: "CANCELLED" });
		expect(sdk.protocol.sent.some(({ path }) => path.includes("job-stop"))).toBe(false);
	});
});
