/** Section 3: `/retry`, and what of a job is reset by it (rule 1, D37). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import {
	atOnce,
	endpointsByName,
	endWith,
	expectError,
	handWorker,
	type HandWorker,
	statusOf,
	submitted,
} from "../hand-worker.ts";

const clock = manualClock();
const unused = endpointsByName(30, { retention: { run: 20_000, runsync: 5000 } });
let service: TestService;
let ep: string;
let worker: HandWorker;

beforeAll(async () => {
	service = await startService({
		endpoints: { ...unused.settings, full: { limits: { queue: 0 } } },
		clock,
	});
});
beforeEach(async () => {
	ep = unused.next();
	worker = await handWorker(service, ep);
});
afterAll(() => endWith(service, clock));

const read = (id: string, endpoint = ep): Promise<any> => statusOf(service, endpoint, id);
const retry = (id: string, endpoint = ep): ReturnType<typeof call> =>
	call(service.url, `/v2/${endpoint}/retry/${id}`, { method: "POST" });

/** A job that failed at the worker. */
async function failed(body: object = { input: {} }): Promise<string> {
	const id = await submitted(service, ep, body);
	await worker.takeThis(id);
	await worker.chunk(id, { output: "a part" });
	await worker.done(id, { output: { half: true }, error: "broke" });
	return id;
}

describe("what can be retried", () => {
	it("spec 3.1: a FAILED job waits again with its id and input; output, error and chunks removed", async () => {
		const input = '{"seed": 18446744073709551615, "x": 1.0}';
		const submission = await call(service.url, `/v2/${ep}/run`, { text: `{"input": ${input}}` });
		const { id } = submission.json;
		await worker.takeThis(id);
		await worker.chunk(id, { output: "a part" });
		await worker.done(id, { output: { half: true }, error: "broke" });
		expect(await read(id)).toMatchObject({
			status: "FAILED",
			error: "broke",
			output: { half: true },
		});
		const answer = await retry(id);
		expect(answer.status).toBe(200);
		expect(answer.json).toEqual({ id, status: "IN_QUEUE" });
		expect(await read(id)).toEqual({
			id,
			status: "IN_QUEUE",
			delayTime: 0,
			executionTime: 0,
			retries: 1,
		});
		expect((await worker.takeThis(id)).text).toContain(input);
		await worker.done(id, { output: "done" });
		expect(await read(id)).toMatchObject({ status: "COMPLETED", output: "done", retries: 1 });
	});

	it("spec 3.1: a job that ran too long, and one that waited too long, can be retried", async () => {
		const slow = await submitted(service, ep, { input: {}, policy: { executionTimeout: 6000 } });
		await worker.takeThis(slow);
		await clock.advance(6000);
		const unwanted = await submitted(service, ep, { input: {}, policy: { ttl: 10_000 } });
		await clock.advance(10_000);
		for (const id of [slow, unwanted]) {
			expect(await read(id)).toMatchObject({ status: "TIMED_OUT", error: expect.any(String) });
			expect((await retry(id)).json).toEqual({ id, status: "IN_QUEUE" });
			expect(await read(id)).toEqual({
				id,
				status: "IN_QUEUE",
				delayTime: 0,
				executionTime: 0,
				retries: 1,
			});
		}
	});

	it("spec 3.1, D3: a job in any other state is 409, and stays as it is", async () => {
		const done = await submitted(service, ep);
		await worker.takeThis(done);
		await worker.done(done, { output: 1 });
		const cancelled = await submitted(service, ep);
		await call(service.url, `/v2/${ep}/cancel/${cancelled}`, { method: "POST" });
		const running = await submitted(service, ep);
		await worker.takeThis(running);
		const waiting = await submitted(service, ep);
		for (const [id, state] of [
			[done, "COMPLETED"],
			[cancelled, "CANCELLED"],
			[running, "IN_PROGRESS"],
			[waiting, "IN_QUEUE"],
		] as const) {
			expect(expectError(await retry(id), 409, "job_not_retryable").error).toContain(state);
			expect(await read(id)).toMatchObject({ status: state });
		}
	});

	it("spec 3.2: an expired job is 404, and so is one that never was or belongs to another endpoint", async () => {
		const id = await failed();
		expectError(await retry(id, unused.next()), 404, "job_not_found");
		await clock.advance(20_000);
		expectError(await retry(id), 404, "job_not_found");
		expectError(await retry("019a0000-0000-7000-8000-000000000000"), 404, "job_not_found");
		expectError(await retry("no job id!"), 404, "job_not_found");
	});

	it("spec 3.1: the second of two retries at once finds the job waiting", async () => {
		const id = await failed();
		const answers = await Promise.all([retry(id), retry(id)]);
		expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
		expect((await read(id)).retries).toBe(1);
	});
});

describe("what is reset", () => {
	it("D37: it joins the end of the queue", async () => {
		const id = await failed();
		const other = await submitted(service, ep);
		await retry(id);
		await worker.takeThis(other);
		await worker.takeThis(id);
	});

	it("D37: ttl, delayTime, executionTime and retention count from then on", async () => {
		const id = await failed({ input: {}, policy: { ttl: 10_000 } });
		await clock.advance(15_000);
		await retry(id);
		await clock.advance(9999);
		expect(await read(id)).toMatchObject({ status: "IN_QUEUE", delayTime: 9999, executionTime: 0 });
		await worker.takeThis(id);
		await worker.ping(id);
		await clock.advance(700);
		await worker.done(id, { error: "again" });
		await clock.advance(19_999);
		expect(await read(id)).toMatchObject({
			status: "FAILED",
			delayTime: 9999,
			executionTime: 700,
			retries: 1,
		});
		await clock.advance(1);
		expectError(await call(service.url, `/v2/${ep}/status/${id}`), 404, "job_not_found");
	});

	it("D37: the policy stays", async () => {
		const id = await failed({ input: {}, policy: { executionTimeout: 6000 } });
		await retry(id);
		await worker.takeThis(id);
		await clock.advance(6000);
		expect(await read(id)).toMatchObject({ status: "TIMED_OUT", executionTime: 6000 });
	});

	it("D22, D37: s3Config comes with it again", async () => {
		const s3Config = {
			accessId: "id",
			accessSecret: "secret",
			bucketName: "b",
			endpointUrl: "https://s3.example.org",
		};
		const id = await failed({ input: {}, s3Config });
		await retry(id);
		expect((await worker.takeThis(id)).s3Config).toEqual(s3Config);
	});

	it("D16, D37: losses are counted from 0", async () => {
		const id = await submitted(service, ep);
		for (let loss = 1; loss <= 3; loss += 1) {
			const unlucky = await handWorker(service, ep);
			await unlucky.takeThis(id);
			await clock.advance(20_000);
		}
		expect(await read(id)).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining("3 times"),
			retries: 2,
		});
		await retry(id);
		const unlucky = await handWorker(service, ep);
		await unlucky.takeThis(id);
		await clock.advance(20_000);
		expect(await read(id)).toMatchObject({ status: "IN_QUEUE", retries: 4 });
	});

	it("D13: the return counts in `retried`; the failure before it stays counted", async () => {
		const id = await failed();
		await retry(id);
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs).toEqual({
			completed: 0,
			failed: 1,
			inProgress: 0,
			inQueue: 1,
			retried: 1,
		});
	});

	it("D7, D37: chunks of the earlier run are removed for every reader, their numbers are not used again", async () => {
		const id = await failed();
		await retry(id);
		await worker.takeThis(id);
		await worker.chunk(id, { output: "new" });
		const answer = await call(service.url, `/v2/${ep}/stream/${id}?offset=0`);
		expect(answer.json).toEqual([{ output: "new", metrics: {} }]);
		expect(answer.headers.get("sluice-next-offset")).toBe("2");
	});
});

describe("who gets it", () => {
	it("a worker that waits gets the job at once, and a caller of /status-sync its end", async () => {
		const id = await failed();
		const take = worker.take();
		await retry(id);
		expect((await atOnce(clock, take))?.id).toBe(id);
		const end = call(service.url, `/v2/${ep}/status-sync/${id}`);
		await worker.done(id, { output: 2 });
		expect((await atOnce(clock, end)).json).toMatchObject({ status: "COMPLETED", output: 2 });
	});

	it("D16: one worker only: its job times out and is retried; its late report leaves the new attempt", async () => {
		const id = await submitted(service, ep, { input: {}, policy: { executionTimeout: 6000 } });
		await worker.takeThis(id);
		await clock.advance(6000);
		await retry(id);
		// The old run goes on: the worker is not given the job, however long it asks.
		const early = worker.take({ busy: true });
		await clock.advance(2000);
		expect(await read(id)).toMatchObject({ status: "IN_QUEUE" });
		expectError(await retry(id), 409, "job_not_retryable");
		// Its report ends the old attempt and nothing else; the job then comes to it.
		await worker.done(id, { output: "late" });
		expect((await atOnce(clock, early))?.id).toBe(id);
		expect(await read(id)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
		expect((await read(id)).output).toBeUndefined();
		await worker.done(id, { output: "new" });
		expect(await read(id)).toMatchObject({ status: "COMPLETED", output: "new" });
	});

	it("D16: the same, when the old run ends without a report: two pings that omit it free the job", async () => {
		const id = await submitted(service, ep, { input: {}, policy: { executionTimeout: 6000 } });
		await worker.takeThis(id);
		await clock.advance(6000);
		await retry(id);
		const take = worker.take({ busy: true });
		await clock.advance(5000);
		await worker.ping();
		await clock.advance(5000);
		expect(await read(id)).toMatchObject({ status: "IN_QUEUE" });
		await worker.ping();
		expect((await atOnce(clock, take))?.id).toBe(id);
	});
});

describe("the bound of the queue", () => {
	it("D23: a full queue refuses a retry with 429, and the job stays as it was", async () => {
		const other = await handWorker(service, "full");
		const id = await submitted(service, "full");
		await other.takeThis(id);
		await other.done(id, { error: "broke" });
		const first = await submitted(service, "full");
		expectError(await retry(id, "full"), 429, "queue_full");
		expect(await read(id, "full")).toMatchObject({ status: "FAILED" });
		await other.takeThis(first);
		expect((await retry(id, "full")).status).toBe(200);
	});
});
