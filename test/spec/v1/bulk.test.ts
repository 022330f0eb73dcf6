/**
 * Bulk deeds of operators: jobs of a filter cancelled or retried in portions, and a worker stopped
 * (D28, D39).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { startService, type TestService } from "../../support/service.ts";
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
import { keyWith, operator } from "../operator.ts";

const clock = manualClock();
const names = endpointsByName(12, { limits: "off" });
const LAUNCHED = {
	launcher: { type: "process", command: ["sleep", "300"] },
	stopGraceMs: 0,
	workersMin: 1,
	workersMax: 1,
};
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { ...names.settings, bounded: { limits: { queue: 1 } }, launched: LAUNCHED },
		clock,
	});
});
afterAll(() => endWith(service, clock));

/** The answer of a deed that must succeed. */
async function deed(on: "cancel" | "retry", ep: string, body: object = {}): Promise<any> {
	const { status, json, text } = await operator(service).post(`/endpoints/${ep}/jobs/${on}`, body);
	expect(status, text).toBe(200);
	return json;
}

/** So many jobs, one after the other. */
async function many(ep: string, count: number): Promise<string[]> {
	const ids: string[] = [];
	for (let n = 0; n < count; n += 1) ids.push(await submitted(service, ep));
	return ids;
}

/** Has the worker take a job, which must be `id`, and fail it. */
async function fail(worker: HandWorker, id: string): Promise<void> {
	await worker.takeThis(id);
	await worker.done(id, { error: "no" });
}

const states = (ep: string, ids: readonly string[]): Promise<string[]> =>
	Promise.all(ids.map(async (id) => (await statusOf(service, ep, id)).status as string));

describe("cancel", () => {
	it("D39: without a filter all that waits or runs, and nothing that has ended", async () => {
		const ep = names.next();
		const worker = await handWorker(service, ep);
		const [failed, running, waiting] = await many(ep, 3);
		await fail(worker, failed!);
		await worker.takeThis(running!);
		expect(await deed("cancel", ep, { dryRun: true })).toEqual({
			matched: 2,
			done: 0,
			more: false,
			next: null,
		});
		expect(await states(ep, [failed!, running!, waiting!])).toEqual(["FAILED", "IN_PROGRESS", "IN_QUEUE"]);
		const settled: string[] = [];
		const stop = service.events.on("job.settled", ({ id, state }) => settled.push(`${id} ${state}`));
		expect(await deed("cancel", ep)).toEqual({ matched: 2, done: 2, more: false, next: null });
		stop();
		expect(settled.toSorted()).toEqual([`${running} CANCELLED`, `${waiting} CANCELLED`].toSorted());
		expect(await states(ep, [failed!, running!, waiting!])).toEqual(["FAILED", "CANCELLED", "CANCELLED"]);
		expect(await deed("cancel", ep)).toEqual({ matched: 0, done: 0, more: false, next: null });
	});

	it("D39: by state, worker and time of submission; other states match nothing", async () => {
		const ep = names.next();
		const worker = await handWorker(service, ep);
		const [running, early] = await many(ep, 2);
		await worker.takeThis(running!);
		await clock.advance(1000);
		const at = new Date(clock.now()).toISOString();
		await clock.advance(1);
		const [late] = await many(ep, 1);
		expect((await deed("cancel", ep, { filter: { status: ["COMPLETED", "FAILED"] } })).matched).toBe(0);
		expect((await deed("cancel", ep, { filter: { status: [] } })).matched).toBe(0);
		expect((await deed("cancel", ep, { filter: { from: at }, dryRun: true })).matched).toBe(1);
		expect((await deed("cancel", ep, { filter: { to: at, status: ["IN_QUEUE"] } })).done).toBe(1);
		expect(await states(ep, [running!, early!, late!])).toEqual(["IN_PROGRESS", "CANCELLED", "IN_QUEUE"]);
		expect((await deed("cancel", ep, { filter: { worker: worker.id, from: null } })).done).toBe(1);
		expect(await states(ep, [running!, late!])).toEqual(["CANCELLED", "IN_QUEUE"]);
	});

	it("D39: by a text in id, error, worker or input, together with the other filters", async () => {
		const ep = names.next();
		const worker = await handWorker(service, ep);
		const ada = { input: { user: "Ada" } };
		const first = await submitted(service, ep, ada);
		await worker.takeThis(first);
		await worker.done(first, { error: "Out of memory" });
		const second = await submitted(service, ep, ada);
		const third = await submitted(service, ep, { input: { user: "Bob" } });
		const cancel = (search: string, rest: object = {}): Promise<any> =>
			deed("cancel", ep, { filter: { search, ...rest } });
		expect(await cancel("nobody")).toEqual({ matched: 0, done: 0, more: false, next: null });
		expect((await cancel("ada", { status: ["IN_PROGRESS"] })).matched).toBe(0);
		expect((await cancel('"user": "ada"')).done).toBe(1);
		expect(await states(ep, [first, second, third])).toEqual(["FAILED", "CANCELLED", "IN_QUEUE"]);
		expect((await cancel(third.slice(-12))).done).toBe(1);
		expect((await deed("retry", ep, { filter: { search: "disk full" } })).matched).toBe(0);
		expect((await deed("retry", ep, { filter: { search: "out of MEMORY" } })).done).toBe(1);
		expect(await states(ep, [first, third])).toEqual(["IN_QUEUE", "CANCELLED"]);
		await worker.takeThis(first);
		expect((await cancel(worker.id, { status: ["IN_PROGRESS"] })).done).toBe(1);
	});

	it("D39: a thousand in one portion, the rest by next", async () => {
		const ep = names.next();
		const { engine } = service;
		const endpoint = engine.endpoints.get(ep);
		await Promise.all(
			Array.from({ length: 1203 }, () =>
				engine.jobs.submit({
					id: engine.jobs.newId("run"),
					endpoint,
					operation: "run",
					options: { lowPriority: false, s3Config: false },
					input: "{}",
				}),
			),
		);
		expect(await deed("cancel", ep, { dryRun: true })).toEqual({
			matched: 1203,
			done: 0,
			more: false,
			next: null,
		});
		const first = await deed("cancel", ep);
		expect(first).toEqual({ matched: 1000, done: 1000, more: true, next: expect.any(String) });
		expect(await deed("cancel", ep, { cursor: first.next })).toEqual({
			matched: 203,
			done: 203,
			more: false,
			next: null,
		});
		expect((await operator(service).seen(`/endpoints/${ep}`)).jobs.inQueue).toBe(0);
	});
});

describe("retry", () => {
	it("D39: failed jobs wait again in the order in which they were submitted", async () => {
		const ep = names.next();
		const worker = await handWorker(service, ep);
		const ids = await many(ep, 4);
		for (const id of ids.slice(0, 3)) await fail(worker, id);
		expect(await deed("retry", ep)).toEqual({ matched: 3, done: 3, more: false, next: null });
		for (const id of [ids[3]!, ...ids.slice(0, 3)]) {
			await worker.takeThis(id);
			await worker.done(id, { output: {} });
		}
		expect(await deed("retry", ep)).toMatchObject({ matched: 0 });
	});

	it("D23: a full queue takes what fits, the rest is still there; when it takes none, the answer is 429", async () => {
		const worker = await handWorker(service, "bounded");
		const ids: string[] = [];
		for (let n = 0; n < 4; n += 1) {
			const [id] = await many("bounded", 1);
			await fail(worker, id!);
			ids.push(id!);
		}
		// The bound is exceeded only when more than one waits.
		const first = await deed("retry", "bounded");
		expect(first).toMatchObject({ matched: 4, done: 2, more: true });
		expect(await states("bounded", ids)).toEqual(["IN_QUEUE", "IN_QUEUE", "FAILED", "FAILED"]);
		expectError(await operator(service).post("/endpoints/bounded/jobs/retry", {}), 429, "queue_full");
	});
});

it("D39: what cannot be read is 400 with its fields; reading keys and foreign endpoints are 401", async () => {
	const ep = names.next();
	const post = (body: unknown, key?: string) => operator(service, key).post(`/endpoints/${ep}/jobs/cancel`, body);
	expectError(
		await post({ filter: { status: ["RUNNING"], from: "yesterday", color: 1 }, dryRun: "yes" }),
		400,
		"bad_request",
		["filter.status.0", "filter.from", "filter.color", "dryRun"],
	);
	expectError(await post({ filter: { to: "2026-13-40T00:00:00Z" } }), 400, "bad_request", ["filter.to"]);
	for (const search of ["", "x".repeat(201), "\u0000", 1])
		expectError(await post({ filter: { search } }), 400, "bad_request", ["filter.search"]);
	expectError(await post({ filters: {} }), 400, "bad_request", ["filters"]);
	expectError(await post({ cursor: "%" }), 400, "bad_query", ["cursor"]);
	expectError(await post({}, (await keyWith(service, ["read"])).key), 401, "unauthorized");
	expectError(await post({}, (await keyWith(service, ["write"], ["elsewhere"])).key), 401, "unauthorized");
	expectError(await operator(service).post("/endpoints/nowhere/jobs/retry", {}), 404, "endpoint_not_found");
});

describe("a worker", () => {
	const stop = (ep: string, worker: string) => operator(service).post(`/endpoints/${ep}/workers/${worker}/stop`);

	it("D28: that was launched gets no more jobs and ends once it holds none; another replaces it", async () => {
		const started = async (): Promise<string> =>
			(
				await atOnce(
					clock,
					service.next("worker.launched", ({ endpoint }) => endpoint === "launched"),
				)
			).worker;
		const id = [...service.engine.workers.of("launched")][0]?.id ?? (await started());
		const worker = service.engine.workers.recordCall({ id, endpoint: "launched" });
		const job = await submitted(service, "launched");
		await atOnce(
			clock,
			service.engine.jobs.take({
				worker,
				limit: 1,
				idle: false,
				signal: new AbortController().signal,
			}),
		);
		expect(await stop("launched", id)).toMatchObject({ status: 200, json: {} });
		expect((await operator(service).seen("/endpoints/launched/workers")).workers[0]).toMatchObject({
			id,
			state: "stopping",
			jobs: [job],
		});
		const exited = service.next("worker.exited", (facts) => facts.worker === id);
		const next = service.next("worker.launched", ({ endpoint }) => endpoint === "launched");
		await clock.advance(5000);
		expect([...worker.held.keys()]).toEqual([job]);
		await service.engine.jobs.report({
			worker,
			id: job,
			report: { kind: "end", on: "complete", output: "{}", restart: false },
		});
		let over = false;
		void exited.then(() => (over = true));
		await advanceUntil(clock, () => over, 500);
		over = false;
		void next.then(() => (over = true));
		await advanceUntil(clock, () => over, 500);
		expect((await next).worker).not.toBe(id);
		expectError(await stop("launched", id), 404, "worker_gone");
	});

	it("D28: that is external is stopped there; an unknown one is 404", async () => {
		const ep = names.next();
		const worker = await handWorker(service, ep);
		await worker.ping();
		expectError(await stop(ep, worker.id), 409, "worker_not_launched");
		expectError(await stop(ep, "none"), 404, "worker_gone");
		const { key } = await keyWith(service, ["write"]);
		expectError(await operator(service, key).post(`/endpoints/${ep}/workers/${worker.id}/stop`), 401, "unauthorized");
	});
});
