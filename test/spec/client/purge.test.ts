/** Section 3: `/purge-queue` removes what waits (spec 2.8, 3, D11). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import {
	atOnce,
	begun,
	endpointsByName,
	endWith,
	expectError,
	handWorker,
	type HandWorker,
	statusOf,
	submitted,
} from "../hand-worker.ts";

const clock = manualClock();
const unused = endpointsByName(20);
let service: TestService;
let ep: string;
let worker: HandWorker;

beforeAll(async () => {
	service = await startService({
		endpoints: { ...unused.settings, bounded: { limits: { queue: 1 } } },
		clock,
	});
});
beforeEach(async () => {
	ep = unused.next();
	worker = await handWorker(service, ep);
});
afterAll(() => endWith(service, clock));

const purge = (endpoint = ep): ReturnType<typeof call> =>
	call(service.url, `/v2/${endpoint}/purge-queue`, { method: "POST" });
const counts = async (endpoint = ep): Promise<any> => (await call(service.url, `/v2/${endpoint}/health`)).json.jobs;

describe("what is removed", () => {
	it("spec 2.8, 3: every waiting job is removed and counted; running and ended ones are unaffected", async () => {
		const [running, done] = [await submitted(service, ep), await submitted(service, ep)];
		await worker.takeThis(running);
		await worker.takeThis(done);
		await worker.done(done, { output: 1 });
		const waiting = [
			await submitted(service, ep),
			await submitted(service, ep, { input: {}, policy: { lowPriority: true } }),
			await submitted(service, ep),
		];
		const answer = await purge();
		expect(answer.status).toBe(200);
		expect(answer.text).toBe('{"removed":3,"status":"completed"}');
		for (const id of waiting) {
			for (const operation of ["status", "stream", "status-sync"])
				expectError(await call(service.url, `/v2/${ep}/${operation}/${id}`), 404, "job_not_found");
			for (const operation of ["cancel", "retry"])
				expectError(await call(service.url, `/v2/${ep}/${operation}/${id}`, { method: "POST" }), 404, "job_not_found");
		}
		expect(await statusOf(service, ep, running)).toMatchObject({ status: "IN_PROGRESS" });
		expect(await statusOf(service, ep, done)).toMatchObject({ status: "COMPLETED", output: 1 });
		expect(await counts()).toEqual({
			completed: 1,
			failed: 0,
			inProgress: 1,
			inQueue: 0,
			retried: 0,
		});
		expect((await call(service.url, `/v2/${ep}/requests`)).json.requests.map(({ id }: { id: string }) => id)).toEqual([
			done,
			running,
		]);
	});

	it("spec 2.8: an empty queue gives 0", async () => {
		expect((await purge()).json).toEqual({ removed: 0, status: "completed" });
	});

	it("D11: jobs that come after it, or come back after it, wait as usual", async () => {
		const lost = await submitted(service, ep);
		await worker.takeThis(lost);
		await submitted(service, ep);
		await purge();
		const after = await submitted(service, ep);
		await clock.advance(20_000);
		expect(await counts()).toMatchObject({ inQueue: 2, retried: 1 });
		const other = await handWorker(service, ep);
		await other.takeThis(lost);
		await other.takeThis(after);
	});

	it("D11: no other endpoint is touched", async () => {
		const elsewhere = unused.next();
		const id = await submitted(service, elsewhere);
		await submitted(service, ep);
		await purge();
		expect(await statusOf(service, elsewhere, id)).toMatchObject({ status: "IN_QUEUE" });
	});

	it("D11: atomic against claims: each job is removed or handed out, never both", async () => {
		const ids = await Promise.all(Array.from({ length: 40 }, () => submitted(service, ep)));
		const workers = await Promise.all(Array.from({ length: 10 }, () => handWorker(service, ep)));
		const takes = workers.map((each) => each.take());
		const { removed } = (await purge()).json;
		const later = clock.advance(60_000);
		const taken = (await Promise.all(takes)).flatMap((job) => (job ? [job.id] : []));
		await later;
		expect(removed + taken.length).toBe(ids.length);
		for (const id of taken) expect((await call(service.url, `/v2/${ep}/status/${id}`)).status).toBe(200);
	});

	it("D23: the places are free again", async () => {
		await submitted(service, "bounded");
		await submitted(service, "bounded");
		expectError(await call(service.url, "/v2/bounded/run", { body: { input: {} } }), 429, "queue_full");
		expect((await purge("bounded")).json.removed).toBe(2);
		await submitted(service, "bounded");
	});
});

describe("who waited", () => {
	it("D11: callers in /runsync and /status-sync are answered CANCELLED with a sentence, 200", async () => {
		const queued = service.next("job.queued");
		const runsync = await begun(service.url, `/v2/${ep}/runsync`, { body: { input: {} } });
		const { id } = await queued;
		const statusSync = await begun(service.url, `/v2/${ep}/status-sync/${id}`);
		await clock.advance(1500);
		await purge();
		for (const held of [runsync, statusSync]) {
			const answer = await atOnce(clock, held.answer);
			expect(answer.status).toBe(200);
			expect(answer.json).toEqual({
				id,
				status: "CANCELLED",
				delayTime: 1500,
				executionTime: 0,
				error: expect.stringContaining("purge-queue"),
			});
		}
	});

	it("D11: a reader of its stream gets 404", async () => {
		const id = await submitted(service, ep);
		const stream = await begun(service.url, `/v2/${ep}/stream/${id}`);
		await purge();
		expectError(await atOnce(clock, stream.answer), 404, "job_not_found");
	});

	it("D11: callers whose job runs go on waiting", async () => {
		const queued = service.next("job.queued");
		const runsync = await begun(service.url, `/v2/${ep}/runsync`, { body: { input: {} } });
		const { id } = await queued;
		await worker.takeThis(id);
		await submitted(service, ep);
		expect((await purge()).json.removed).toBe(1);
		await clock.advance(1000);
		expect(runsync.over()).toBe(false);
		await worker.done(id, { output: "still" });
		expect((await atOnce(clock, runsync.answer)).json).toMatchObject({
			status: "COMPLETED",
			output: "still",
		});
	});
});
