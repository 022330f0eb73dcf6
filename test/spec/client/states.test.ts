/** Section 3: deadlines, cancelling, the order of the queue, and the end of results. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Clock } from "../../../src/kernel/system/clock.ts";
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

const hand = manualClock();
let skew = 0;
const now = (): number => hand.now() + skew;
const clock: Clock = { now, wall: now, sleep: hand.sleep };
const unused = endpointsByName(30, { retention: { run: 20_000, runsync: 5000 } });
let service: TestService;
/** An endpoint of its own for each test, with a worker. */
let ep: string;
let worker: HandWorker;

/** Time passes without anybody being woken: no loop has run when the next request comes. */
function jump(ms: number): void {
	skew += ms;
	service.leapt();
}

beforeAll(async () => {
	service = await startService({
		endpoints: { ...unused.settings, own: { executionTimeoutMs: 7000 } },
		clock,
		pauseMs: Infinity,
	});
});
beforeEach(async () => {
	ep = unused.next();
	worker = await handWorker(service, ep);
});
afterAll(() => endWith(service, hand));

const read = (id: string, endpoint = ep): Promise<any> => statusOf(service, endpoint, id);
const cancel = (id: string): ReturnType<typeof call> => call(service.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });

describe("the ttl of a waiting job", () => {
	const body = { input: {}, policy: { ttl: 10_000 } };
	const lapsed = (id: string): object => ({
		id,
		status: "TIMED_OUT",
		delayTime: 10_000,
		executionTime: 0,
		error: expect.stringContaining("10000 ms"),
	});

	it("spec 2.4, D15: it waits until just before, and has timed out exactly at it, without a loop", async () => {
		const id = await submitted(service, ep, body);
		jump(9999);
		expect(await read(id)).toMatchObject({ status: "IN_QUEUE", delayTime: 9999 });
		jump(1);
		expect(await read(id)).toEqual(lapsed(id));
	});

	it("D15: seen late, it ended at its deadline; counts agree", async () => {
		const id = await submitted(service, ep, body);
		jump(12_345);
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs).toMatchObject({
			inQueue: 0,
			failed: 1,
		});
		expect(await read(id)).toEqual(lapsed(id));
	});

	it("D15: with the loop running it is announced and its waiters are notified at once", async () => {
		const settled = service.next("job.settled", ({ endpoint }) => endpoint === ep);
		const queued = service.next("job.queued");
		const answer = call(service.url, `/v2/${ep}/runsync?wait=60000`, { body });
		const { id } = await queued;
		await hand.advance(10_000);
		expect(await atOnce(hand, settled)).toMatchObject({ id, state: "TIMED_OUT" });
		expect((await atOnce(hand, answer)).json).toEqual(lapsed(id));
	});

	it("D15: no worker gets it any more", async () => {
		const late = await submitted(service, ep, body);
		const good = await submitted(service, ep);
		jump(10_000);
		await worker.takeThis(good);
		expect(await read(late)).toMatchObject({ status: "TIMED_OUT" });
	});

	it("D15: it ends with the wait: a job that was taken in time runs on", async () => {
		const id = await submitted(service, ep, body);
		jump(9999);
		await worker.takeThis(id);
		await hand.advance(15_000);
		expect(await read(id)).toMatchObject({ status: "IN_PROGRESS" });
	});
});

describe("the execution timeout", () => {
	const body = { input: {}, policy: { executionTimeout: 6000 } };
	const stopped = (id: string): object => ({
		id,
		status: "TIMED_OUT",
		delayTime: 0,
		executionTime: 6000,
		error: expect.stringContaining("6000 ms"),
		workerId: worker.id,
	});

	it("spec 2.4, D15: it runs until just before, and has timed out exactly at it, without a loop", async () => {
		const id = await submitted(service, ep, body);
		await worker.takeThis(id);
		jump(5999);
		expect(await read(id)).toMatchObject({ status: "IN_PROGRESS", executionTime: 5999 });
		jump(1);
		expect(await read(id)).toEqual(stopped(id));
	});

	it("D15: it counts from the take, not from the submission, and ends the wait of its callers", async () => {
		const queued = service.next("job.queued");
		const answer = call(service.url, `/v2/${ep}/runsync?wait=60000`, { body });
		const { id } = await queued;
		await hand.advance(3000);
		await worker.takeThis(id);
		const stop = service.next("stop.sent");
		await hand.advance(5999);
		await worker.ping(id);
		expect(await read(id)).toMatchObject({ status: "IN_PROGRESS", delayTime: 3000 });
		await hand.advance(1);
		expect((await atOnce(hand, answer)).json).toEqual({ ...stopped(id), delayTime: 3000 });
		expect(await stop).toMatchObject({ id, worker: worker.id });
	});

	it("D16: a result that comes after it changes nothing", async () => {
		const id = await submitted(service, ep, body);
		await worker.takeThis(id);
		jump(6000);
		await worker.done(id, { output: "late" });
		expect(await read(id)).toEqual(stopped(id));
	});

	it("spec 2.4: without a policy the endpoint's setting holds", async () => {
		const id = await submitted(service, "own");
		const other = await handWorker(service, "own");
		await other.takeThis(id);
		jump(6999);
		expect(await read(id, "own")).toMatchObject({ status: "IN_PROGRESS" });
		jump(1);
		expect(await read(id, "own")).toMatchObject({ status: "TIMED_OUT", executionTime: 7000 });
	});
});

describe("/cancel", () => {
	it("spec 3: a waiting job leaves the queue", async () => {
		const id = await submitted(service, ep);
		const next = await submitted(service, ep);
		expect((await cancel(id)).json).toEqual({ id, status: "CANCELLED" });
		expect(await read(id)).toEqual({ id, status: "CANCELLED", delayTime: 0, executionTime: 0 });
		await worker.takeThis(next);
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs).toMatchObject({
			inQueue: 0,
			inProgress: 1,
			failed: 0,
			completed: 0,
		});
	});

	it("spec 3, D18: a running job is cancelled at once, its worker notified; late results are ignored", async () => {
		const id = await submitted(service, ep);
		await worker.takeThis(id);
		const stop = call(service.url, `/worker/${ep}/job-stop/${worker.id}?gpu=none`, {
			headers: { authorization: worker.token },
		});
		expect((await cancel(id)).json).toEqual({ id, status: "CANCELLED" });
		expect((await stop).json).toEqual({ jobsToStop: [id] });
		await worker.done(id, { output: "late" });
		expect(await read(id)).toEqual({
			id,
			status: "CANCELLED",
			delayTime: 0,
			executionTime: 0,
			workerId: worker.id,
		});
	});

	it("D10: a final job keeps its state, which is the answer", async () => {
		const done = await submitted(service, ep);
		await worker.takeThis(done);
		await worker.done(done, { output: 1 });
		const failed = await submitted(service, ep);
		await worker.takeThis(failed);
		await worker.done(failed, { error: "no" });
		const late = await submitted(service, ep, { input: {}, policy: { ttl: 10_000 } });
		jump(10_000);
		for (const [id, status] of [
			[done, "COMPLETED"],
			[failed, "FAILED"],
			[late, "TIMED_OUT"],
		] as const) {
			const before = await read(id);
			expect((await cancel(id)).json).toEqual({ id, status });
			expect(await read(id)).toEqual(before);
		}
	});

	it("D10: cancelled twice is cancelled; unknown is 404", async () => {
		const id = await submitted(service, ep);
		for (let round = 0; round < 2; round += 1) expect((await cancel(id)).json).toEqual({ id, status: "CANCELLED" });
		expectError(await cancel("018f0000-0000-7000-8000-000000000000"), 404, "job_not_found");
	});

	it("spec 3: who waits for the job is answered at once", async () => {
		const queued = service.next("job.queued");
		const answer = call(service.url, `/v2/${ep}/runsync`, { body: { input: {} } });
		const { id } = await queued;
		const second = call(service.url, `/v2/${ep}/status-sync/${id}`);
		await cancel(id);
		expect((await answer).json).toMatchObject({ id, status: "CANCELLED" });
		expect((await second).json).toMatchObject({ id, status: "CANCELLED" });
	});
});

describe("the order of the queue", () => {
	it("D20: jobs are taken in the order of their submission, those of low priority after all others", async () => {
		const low = { input: {}, policy: { lowPriority: true } };
		const ids = [
			await submitted(service, ep, low),
			await submitted(service, ep),
			await submitted(service, ep, low),
			await submitted(service, ep),
		];
		for (const at of [1, 3, 0, 2]) {
			await worker.takeThis(ids[at]!);
			await worker.done(ids[at]!, {});
		}
	});

	it("D20: in a batch too", async () => {
		const low = await submitted(service, ep, { input: {}, policy: { lowPriority: true } });
		const high = await submitted(service, ep);
		const { json } = await call(
			service.url,
			`/worker/${ep}/job-take-batch/${worker.id}?batch_size=5&job_in_progress=0`,
			{ headers: { authorization: worker.token } },
		);
		expect(json.map(({ id }: { id: string }) => id)).toEqual([high, low]);
	});
});

describe("the end of results", () => {
	async function ended(operation: "run" | "runsync"): Promise<string> {
		const queued = service.next("job.queued");
		const answer = call(service.url, `/v2/${ep}/${operation}`, { body: { input: {} } });
		const { id } = await queued;
		await worker.takeThis(id);
		await worker.done(id, { output: "kept" });
		await answer;
		return id;
	}

	it.each([
		["run", 20_000],
		["runsync", 5000],
	] as const)(
		"spec 3.2: the result of /%s is there for its %d ms and then missing everywhere, loop or not",
		async (operation, retention) => {
			const id = await ended(operation);
			jump(retention - 1);
			expect(await read(id)).toMatchObject({ status: "COMPLETED", output: "kept" });
			jump(1);
			for (const [method, path] of [
				["GET", "status"],
				["POST", "status"],
				["GET", "status-sync"],
				["GET", "stream"],
				["POST", "cancel"],
			] as const) {
				expectError(await call(service.url, `/v2/${ep}/${path}/${id}`, { method }), 404, "job_not_found");
				expectError(await call(service.url, `/sdk/v2/${ep}/${path}/${id}`, { method }), 404, "job_not_found");
			}
			expectError(await call(service.url, `/v2/${ep}/stream/${id}?offset=0`), 404, "job_not_found");
			expect((await call(service.url, `/v2/${ep}/health`)).json.jobs).toMatchObject({
				completed: 1,
				failed: 0,
			});
		},
	);

	it("spec 3.2: by default 30 minutes for /run, 60 seconds for /runsync", async () => {
		const { json } = await call(service.url, "/v1/endpoints");
		expect(json.endpoints.find(({ id }: { id: string }) => id === "own").retention).toMatchObject({
			run: 1_800_000,
			runsync: 60_000,
		});
	});

	it("D9: it is counted from the end, so a long wait costs nothing", async () => {
		const id = await submitted(service, ep);
		jump(100_000);
		await worker.takeThis(id);
		await worker.done(id, {});
		jump(19_999);
		expect(await read(id)).toMatchObject({ status: "COMPLETED" });
		jump(1);
		expectError(await call(service.url, `/v2/${ep}/status/${id}`), 404, "job_not_found");
	});
});
