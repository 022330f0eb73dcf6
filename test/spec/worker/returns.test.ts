/** Jobs that their workers return (D54), and the number of the run that workers may ask for (D55). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../packages/worker/src/clock.ts";
import { JobReturn } from "../../../packages/worker/src/job-return.ts";
import type { Handler } from "../../../packages/worker/src/types.ts";
import { runWorker } from "../../../packages/worker/src/worker.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { bench, type Bench } from "../../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";
import { call } from "../../support/service.ts";
import { launchedWorkers } from "../launched-workers.ts";

const WHY = "the server does not answer";

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

const launched = launchedWorkers(() => b);
const tokenOf = (worker: SdkProtocol): string => worker.env["RUNPOD_AI_API_KEY"]!;

/** The answer to a take with these headers. */
async function taken(
	worker: SdkProtocol,
	{ batch = false, ...headers }: { batch?: boolean } & Record<string, unknown> = {},
): Promise<{ headers: Headers; text: string; jobs: any[] }> {
	const operation = batch ? "job-take-batch" : "job-take";
	const answer = await fetch(`${b.url}/worker/${b.ep}/${operation}/${worker.id}?batch_size=4&job_in_progress=1`, {
		headers: { authorization: tokenOf(worker), ...(headers as Record<string, string>) },
	});
	expect(answer.status).toBe(200);
	const text = await answer.text();
	return { headers: answer.headers, text, jobs: [JSON.parse(text)].flat() };
}

const returnOf = (members: object = {}) => ({ return: { reason: WHY, ...members } });
const detailsOf = async (id: string): Promise<any> => (await call(b.url, `/v1/endpoints/${b.ep}/jobs/${id}`)).json;

describe("D54: a worker that returns a job", () => {
	it("puts it to the front of the queue without a loss; the timeline has the reason", async () => {
		const worker = await b.worker();
		const [id, other] = [await b.submit(), await b.submit()];
		await b.takes(worker, id);
		expect(await worker.done(id, returnOf())).toMatchObject({ status: 200, text: "{}" });
		const status = await b.status(id);
		expect(status).toMatchObject({ status: "IN_QUEUE" });
		expect(status).not.toHaveProperty("retries");
		expect(b.of("job.returned")).toMatchObject([{ id, worker: worker.id, why: "released" }]);
		const { attempts, timeline } = await detailsOf(id);
		expect(attempts).toMatchObject([{ end: "released", open: false, returned: true, workerEnd: WHY }]);
		expect(timeline.at(-1)).toMatchObject({
			event: "released",
			message: `Worker ${worker.id} returned the job to the queue: ${WHY} (attempt 1).`,
		});
		await b.takes(worker, id);
		await worker.done(id, { output: 1 });
		await b.takes(worker, other);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: 1 });
	});

	it("as a loss: it counts, and the third ends the job for those who wait for it", async () => {
		const worker = await b.worker();
		const waiting = b.call("runsync?wait=90000", { body: { input: {} } });
		for (let loss = 1; loss <= 3; loss += 1) {
			const { jobs } = await taken(worker);
			const [{ id }] = jobs;
			expect((await worker.done(id, returnOf({ loss: true }))).status).toBe(200);
			if (loss === 3) continue;
			expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: loss });
			expect(b.of("job.returned")).toHaveLength(loss);
			const { timeline } = await detailsOf(id);
			const starts = timeline.filter(({ event }: { event: string }) => event === "started");
			expect(starts, "no attempt continues one that was returned").toHaveLength(loss);
			expect(timeline.at(-1)).toMatchObject({
				event: "lost",
				message: expect.stringContaining(`returned the job, which counts as a loss: ${WHY}`),
			});
		}
		const { json } = await waiting;
		expect(json).toMatchObject({ status: "FAILED", error: expect.stringContaining(`(${WHY})`) });
		expect(b.of("job.settled")).toMatchObject([{ state: "FAILED" }]);
		expect((await b.call("health")).json.jobs).toMatchObject({ failed: 1, retried: 2, inQueue: 0, inProgress: 0 });
	});

	it("ten times loses nothing, the eleventh time counts as a loss; those within 5 s count once", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		for (let n = 1; n <= 30; n += 1) {
			await b.takes(worker, id);
			await worker.done(id, returnOf());
			if (n % 3 === 0) await b.clock.advance(5000);
		}
		expect(await b.status(id)).not.toHaveProperty("retries");
		await b.takes(worker, id);
		await worker.done(id, returnOf());
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	});

	it("D15: leaves the job its queue deadline", async () => {
		const worker = await b.worker();
		const id = await b.submit({ input: {}, policy: { ttl: 12_000 } });
		await b.takes(worker, id);
		await b.clock.advance(8000);
		await worker.done(id, returnOf());
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", delayTime: 8000 });
		await b.clock.advance(4000);
		expect(await b.status(id)).toMatchObject({ status: "TIMED_OUT", delayTime: 12_000 });
	});

	it("D7: loses the chunks that were not delivered", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await worker.chunk(id, { output: "before" });
		await worker.done(id, returnOf());
		await b.takes(worker, id);
		await worker.chunk(id, { output: "after" });
		await worker.done(id, { output: [] });
		const { json } = await b.call(`stream/${id}?offset=0&wait=1000`, { headers: { accept: "application/json" } });
		expect(json.map(({ output }: { output: string }) => output)).toEqual(["after"]);
	});

	it("in a post with results of other jobs", async () => {
		const worker = await b.worker();
		const [first, second] = [await b.submit(), await b.submit()];
		for (const id of [first, second]) await b.takes(worker, id);
		const lines = [
			{ id: first, ...returnOf() },
			{ id: second, output: 1 },
		].map((line) => JSON.stringify(line));
		const path = `/worker/${b.ep}/job-done-batch/${worker.id}?gpu=none`;
		const headers = { authorization: tokenOf(worker) };
		const answer = await call(b.url, path, { text: lines.join("\n"), headers });
		expect(answer).toMatchObject({ status: 200, json: [200, 200] });
		expect(await b.status(first)).toMatchObject({ status: "IN_QUEUE" });
		expect(await b.status(second)).toMatchObject({ status: "COMPLETED" });
	});

	it("together with others: they keep their order", async () => {
		const worker = await b.worker();
		const ids = [await b.submit(), await b.submit(), await b.submit()];
		for (const id of ids) await b.takes(worker, id);
		const text = ids.map((id) => JSON.stringify({ id, ...returnOf() })).join("\n");
		const path = `/worker/${b.ep}/job-done-batch/${worker.id}?gpu=none`;
		const answer = await call(b.url, path, { text, headers: { authorization: tokenOf(worker) } });
		expect(answer.json).toEqual([200, 200, 200]);
		for (const id of ids) await b.takes(worker, id);
	});

	it("of a job that was cancelled confirms the stop, unless it names an earlier attempt", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await worker.done(id, returnOf({ attempt: 1 }));
		await b.takes(worker, id);
		await b.call(`cancel/${id}`, { method: "POST" });
		await worker.done(id, returnOf({ attempt: 1 }));
		expect((await detailsOf(id)).attempts.at(-1)).toMatchObject({ end: "cancelled", open: true });
		await worker.done(id, returnOf({ attempt: 2 }));
		expect((await detailsOf(id)).attempts.at(-1)).toMatchObject({ end: "cancelled", open: false });
		expect(b.service.engine.workers.registry.get({ endpoint: b.ep, id: worker.id })?.stopping.size).toBe(0);
	});

	it("with an error beside it, for services that do not know returns", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await worker.done(id, { ...returnOf(), error: WHY });
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
	});

	it("repeats it without an effect on the attempt that it has got since, if it names the attempt", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		for (let post = 1; post <= 2; post += 1) {
			expect((await worker.done(id, returnOf({ attempt: 1 }))).status).toBe(200);
			if (post === 1) await b.takes(worker, id);
		}
		expect(b.of("report.dropped")).toMatchObject([{ why: "stale" }]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", workerId: worker.id });
		// The service goes on counting it among what the worker holds.
		const health = (await b.call("health")).json;
		expect(health.workers).toMatchObject({ running: 1 });
		await worker.done(id, { output: 1 });
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED" });
	});

	it("D7: what it posted about the attempt, and arrives late when it has the job again, is dropped", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		const post = async (attempt: number, chunk: number) =>
			await call(b.url, `/worker/${b.ep}/job-stream/${worker.id}/${id}?attempt=${attempt}&chunk=${chunk}`, {
				body: { output: `${attempt}:${chunk}` },
				headers: { authorization: tokenOf(worker) },
			});
		const stream = async (from: string): Promise<unknown> =>
			(await b.call(`stream/${id}?${from}`)).json.map(({ output }: { output: unknown }) => output);
		await b.takes(worker, id);
		await post(1, 0);
		await post(1, 1);
		expect(await stream("wait=1000")).toEqual(["1:0", "1:1"]);
		await worker.done(id, returnOf({ attempt: 1 }));
		await b.takes(worker, id);
		await post(2, 0);
		expect((await post(1, 1)).status).toBe(200);
		expect(b.of("report.dropped")).toMatchObject([{ id, worker: worker.id, why: "stale" }]);
		await post(2, 1);
		await post(2, 1);
		await worker.done(id, { output: [] });
		expect(await stream("offset=0")).toEqual(["1:0", "1:1", "2:0", "2:1"]);
	});

	it("D16: changes nothing once it has lost the job, or the job has ended", async () => {
		const [late, other] = [await b.worker(), await b.worker()];
		const id = await b.submit();
		await b.takes(late, id);
		await b.clock.advance(20_000);
		await b.takes(other, id);
		for (const body of [returnOf(), returnOf({ loss: true })]) expect((await late.done(id, body)).status).toBe(200);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", workerId: other.id, retries: 1 });
		await other.done(id, { output: 1 });
		await other.done(id, returnOf());
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: 1 });
	});

	it("shows control characters and line ends in the reason as one line", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await worker.done(id, returnOf({ reason: "no\n\tanswer\u001b[31m" }));
		const { attempts } = await detailsOf(id);
		expect(attempts).toMatchObject([{ workerEnd: "no answer\ufffd[31m" }]);
	});
});

it("B.5, D54: a launched worker that asks to be restarted gets no more jobs, and ends after its last", async () => {
	const launcher = { type: "process", command: ["sleep", "300"] };
	await b.fresh({ launcher, stopGraceMs: 0, workersMin: 1, workersMax: 2, env: { TOKEN: "such model" } });
	const present = (): Worker[] => launched.of(b.ep).filter(({ draining }) => !draining);
	const [id, held] = [await b.submit(), await b.submit()];
	await launched.passUntil(() => present().length === 1);
	const [worker] = present() as [Worker];
	expect([await launched.takes(worker), await launched.takes(worker)]).toEqual([id, held]);
	const report = { kind: "return", reason: "no such model", loss: false, restart: true } as const;
	await b.service.engine.jobs.report({ worker, id, report });
	expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
	expect(worker.draining).toBe(true);
	const { attempts } = await detailsOf(id);
	expect(attempts, "values of its environment are hidden").toMatchObject([{ workerEnd: "no [TOKEN]" }]);
	await launched.passUntil(() => present().length === 1);
	expect(await launched.takes(present()[0]!)).toBe(id);
	expect(b.of("worker.exited")).toEqual([]);
	await launched.reports(worker, held);
	await launched.passUntil(() => b.of("worker.exited").length > 0);
	expect(b.of("worker.exited")).toMatchObject([{ worker: worker.id }]);
	expect(b.of("worker.failed"), "it is no crash").toEqual([]);
});

describe("D54: a return that is not valid", () => {
	const TOGETHER = "must not be sent with return, which gives the job back without a result.";
	it.each<[string, object, string[], string]>([
		["no object", { return: "no" }, ["return"], "must be an object such as"],
		["a list", { return: [] }, ["return"], "must be an object such as"],
		["without a reason", { return: {} }, ["return.reason"], "is missing"],
		["a reason that is no text", returnOf({ reason: 7 }), ["return.reason"], "1 to 500 characters"],
		["an empty reason", returnOf({ reason: "" }), ["return.reason"], "1 to 500 characters"],
		["a reason that is too long", returnOf({ reason: "x".repeat(501) }), ["return.reason"], "1 to 500 characters"],
		["far too long", returnOf({ reason: "x".repeat(20_000) }), ["return"], "at most 16384"],
		["a loss that is no boolean", returnOf({ loss: "yes" }), ["return.loss"], "must be true or false"],
		["an attempt that is none", returnOf({ attempt: 0 }), ["return.attempt"], "at least 1"],
		["with an output", { ...returnOf(), output: 1 }, ["output"], TOGETHER],
		["with progress", { ...returnOf(), status: "IN_PROGRESS" }, ["status"], TOGETHER],
	])("is 400 and leaves the job to its worker: %s", async (_, body, fields, message) => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		const answer = await worker.done(id, body);
		expect(answer.status, answer.text).toBe(400);
		const { code, details } = JSON.parse(answer.text);
		expect(code).toBe("bad_request");
		expect(details.map(({ field }: { field: string }) => field)).toEqual(fields);
		expect(details[0].message).toContain(message);
		const path = `/worker/${b.ep}/job-done-batch/${worker.id}?gpu=none`;
		const headers = { authorization: tokenOf(worker) };
		const batch = await call(b.url, path, { text: JSON.stringify({ id, ...body }), headers });
		expect(batch).toMatchObject({ status: 200, json: [400] });
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
	});

	it("null counts as absent, and a reason of 500 characters is taken", async () => {
		const worker = await b.worker();
		const [id, other] = [await b.submit(), await b.submit()];
		for (const each of [id, other]) await b.takes(worker, each);
		expect((await worker.done(id, { return: null, output: 1 })).status).toBe(200);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: 1 });
		const escaped = `{"return":{"reason":"${"\\ud83d\\ude00".repeat(500)}","loss":null}}`;
		expect((await worker.done(other, escaped)).status).toBe(200);
		expect(await b.status(other)).toMatchObject({ status: "IN_QUEUE" });
	});
});

it("D54, D55: a handler of Sluice's kit gets the job again that it returned, as the same run", async () => {
	const { env } = await b.worker();
	const stopping = new AbortController();
	const seen: unknown[] = [];
	const handler: Handler = ({ run, attempt }) => {
		seen.push([run, attempt]);
		if (seen.length < 4) throw new JobReturn("not now");
		return "done";
	};
	const worker = runWorker(
		{ handler, concurrency: 4, env, signal: stopping.signal },
		{ clock: systemClock, random: () => 0.5, argv: [], cwd: "/", write: () => {}, fail: () => {} },
	);
	const { json } = await b.call("runsync", { body: { input: {} } });
	expect(json).toMatchObject({ status: "COMPLETED", output: "done" });
	expect(json).not.toHaveProperty("retries");
	expect(seen).toEqual([1, 2, 3, 4].map((attempt) => [1, attempt]));
	stopping.abort();
	await worker;
});

describe("what a take says", () => {
	it("D54: that the service understands returns, when it hands out jobs", async () => {
		const worker = await b.worker();
		for (const batch of [true, false]) {
			await b.submit();
			const { headers } = await taken(worker, { batch });
			expect(headers.get("sluice-job-return")).toBe("1");
		}
	});

	it("D55: the run and the attempt, to a worker that asks for them; others get what they got before", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		expect((await taken(worker)).text).toBe(`{"id":"${id}","input":{}}`);
		await worker.done(id, returnOf());
		expect((await taken(worker, { "Sluice-Run": "0" })).text).toBe(`{"id":"${id}","input":{}}`);
		await worker.done(id, returnOf());
		const asks = { "Sluice-Run": "1" };
		expect((await taken(worker, asks)).text).toBe(`{"id":"${id}","input":{},"run":1,"attempt":3}`);
		await worker.done(id, returnOf({ loss: true }));
		expect((await taken(worker, { ...asks, batch: true })).jobs).toMatchObject([{ id, run: 1, attempt: 4 }]);
		await worker.done(id, { error: "no" });
		await b.call(`retry/${id}`, { method: "POST" });
		expect((await taken(worker, asks)).jobs).toMatchObject([{ id, run: 2, attempt: 5 }]);
	});
});
