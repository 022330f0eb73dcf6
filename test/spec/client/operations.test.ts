/** Section 4: waiting in /runsync and /status-sync, the SDKs' prefix, and /health. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import {
	atOnce,
	begun,
	endpointsByName,
	endWith,
	expectError,
	handWorker,
	type HeldCall,
	statusOf,
	submitted,
} from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";

const clock = manualClock();
const unused = endpointsByName(60);
let service: TestService;
/** An endpoint of its own for each test. */
let ep: string;
beforeAll(async () => {
	service = await startService({ endpoints: unused.settings, clock });
});
beforeEach(() => {
	ep = unused.next();
});
afterAll(() => endWith(service, clock));

/** Begins a /runsync and waits until its job is queued. */
async function runsync(query = ""): Promise<HeldCall & { id: string }> {
	const queued = service.next("job.queued");
	const sync = await begun(service.url, `/v2/${ep}/runsync${query}`, { body: { input: {} } });
	const { id } = await Promise.race([queued, sync.answer.then(({ text }) => Promise.reject(new Error(text)))]);
	return { ...sync, id };
}

/** Lets an answer arrive that may be on its way, without moving time. */
async function arrive(): Promise<void> {
	await call(service.url, "/healthz");
	await clock.advance(0);
}

/** Checks that a held call is answered after exactly `ms` of waiting. */
async function expectHeld(held: HeldCall, ms: number): Promise<any> {
	await arrive();
	await clock.advance(ms - 1);
	await arrive();
	expect(held.over()).toBe(false);
	await clock.advance(1);
	const { status, json } = await atOnce(clock, held.answer);
	expect(status).toBe(200);
	return json;
}

const WAITS: [string, number][] = [
	["", 90_000],
	["?wait=1000", 1000],
	["?wait=5000", 5000],
	["?wait=999", 1000],
	["?wait=0", 1000],
	["?wait=-7", 1000],
	["?wait=1500.4", 1500],
	["?wait=300000", 300_000],
	["?wait=300001", 300_000],
	["?wait=99999999999999999999999", 300_000],
];
const JUNK = ["abc", "", "1e4", "0x400", "NaN", "Infinity", "5s", " 5000", "5000 ", "1,000", "--1", "%00"];

describe("waiting", () => {
	it.each(WAITS)("D8: /runsync%s is answered after %d ms with the job as it stands", async (query, ms) => {
		const held = await runsync(query);
		expect(await expectHeld(held, ms)).toEqual({
			id: held.id,
			status: "IN_QUEUE",
			delayTime: ms,
			executionTime: 0,
		});
		expect(await statusOf(service, ep, held.id)).toMatchObject({ status: "IN_QUEUE" });
	});

	it.each(WAITS)("D8: /status-sync%s is answered after %d ms", async (query, ms) => {
		const id = await submitted(service, ep);
		for (const method of ["GET", "POST"]) {
			const held = await begun(service.url, `/v2/${ep}/status-sync/${id}${query}`, { method });
			expect(await expectHeld(held, ms)).toMatchObject({ id, status: "IN_QUEUE" });
		}
	});

	it.each(JUNK)("D8: wait=%j is 400 and names it; nothing is queued", async (junk) => {
		const query = `?wait=${junk.startsWith("%") ? junk : encodeURIComponent(junk)}`;
		const id = await submitted(service, ep);
		expectError(await call(service.url, `/v2/${ep}/runsync${query}`, { body: { input: {} } }), 400, "bad_query", [
			"wait",
		]);
		expectError(await call(service.url, `/v2/${ep}/status-sync/${id}${query}`), 400, "bad_query", ["wait"]);
		expectError(await call(service.url, `/v2/${ep}/stream/${id}${query}`), 400, "bad_query", ["wait"]);
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs.inQueue).toBe(1);
	});

	it("D8: unknown query parameters are ignored", async () => {
		const id = await submitted(service, ep);
		expect((await call(service.url, `/v2/${ep}/status/${id}?wait=junk&x=1`)).status).toBe(200);
		expect((await call(service.url, `/v2/${ep}/run?wait=junk&&&=`, { body: { input: {} } })).status).toBe(200);
	});

	it("spec 4: /runsync is answered as soon as the job has ended", async () => {
		const worker = await handWorker(service, ep);
		const held = await runsync();
		const taken = await worker.takeThis(held.id);
		await arrive();
		expect(held.over()).toBe(false);
		await worker.done(taken.id, { output: { x: 1 } });
		expect((await held.answer).json).toMatchObject({
			id: held.id,
			status: "COMPLETED",
			output: { x: 1 },
		});
	});

	it("D8: a job that still runs when the wait ends is returned as running and goes on", async () => {
		const worker = await handWorker(service, ep);
		const held = await runsync("?wait=2000");
		await worker.takeThis(held.id);
		await clock.advance(2000);
		expect((await atOnce(clock, held.answer)).json).toMatchObject({
			status: "IN_PROGRESS",
			executionTime: 2000,
			workerId: worker.id,
		});
		await worker.done(held.id, { output: 1 });
		expect(await statusOf(service, ep, held.id)).toMatchObject({ status: "COMPLETED", output: 1 });
	});

	it("D8: /status-sync of an ended job is answered at once, of an unknown one 404", async () => {
		const id = await submitted(service, ep);
		await call(service.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
		for (const method of ["GET", "POST"])
			expect((await call(service.url, `/v2/${ep}/status-sync/${id}?wait=300000`, { method })).json).toMatchObject({
				status: "CANCELLED",
			});
		expectError(await call(service.url, `/v2/${ep}/status-sync/none`), 404, "job_not_found");
	});

	it("D8: many callers may wait for one job", async () => {
		const worker = await handWorker(service, ep);
		const id = await submitted(service, ep);
		const held = await Promise.all(Array.from({ length: 10 }, () => begun(service.url, `/v2/${ep}/status-sync/${id}`)));
		await worker.takeThis(id);
		await worker.done(id, { error: "no" });
		for (const { answer } of held) expect((await answer).json).toMatchObject({ id, status: "FAILED", error: "no" });
	});

	it("D8: a client that hangs up changes nothing for the job", async () => {
		const worker = await handWorker(service, ep);
		const queued = service.next("job.queued");
		const connection = await rawConnection(service.url);
		connection.write(
			requestText({
				method: "POST",
				path: `/v2/${ep}/runsync`,
				headers: { Authorization: KEY },
				body: '{"input":{"a":1}}',
			}),
		);
		const { id } = await queued;
		connection.socket.destroy();
		await connection.closed;
		expect((await worker.takeThis(id)).input).toEqual({ a: 1 });
		await worker.done(id, { output: 2 });
		expect(await statusOf(service, ep, id)).toMatchObject({ status: "COMPLETED", output: 2 });
	});

	it("D34: when the service stops, waits are answered with the job as it stands", async () => {
		const own = await startService({ endpoints: { ep: {} }, clock });
		const queued = own.next("job.queued");
		const answer = call(own.url, "/v2/ep/runsync", { body: { input: {} } });
		const { id } = await queued;
		const end = endWith(own, clock);
		expect((await answer).json).toEqual({
			id,
			status: "IN_QUEUE",
			delayTime: expect.any(Number),
			executionTime: 0,
		});
		await end;
	});
});

describe("/sdk/v2", () => {
	it("D7: serves the same jobs as /v2", async () => {
		const { json } = await call(service.url, `/sdk/v2/${ep}/run`, { body: { input: {} } });
		for (const prefix of ["/v2", "/sdk/v2"])
			expect((await call(service.url, `${prefix}/${ep}/status/${json.id}`)).json).toMatchObject({
				id: json.id,
				status: "IN_QUEUE",
			});
		expect((await call(service.url, `/sdk/v2/${ep}/health`)).text).toBe(
			(await call(service.url, `/v2/${ep}/health`)).text,
		);
		expect((await call(service.url, `/sdk/v2/${ep}/cancel/${json.id}`, { method: "POST", body: {} })).json).toEqual({
			id: json.id,
			status: "CANCELLED",
		});
	});
});

describe("/health", () => {
	const health = async (endpoint = ep): Promise<any> => (await call(service.url, `/v2/${endpoint}/health`)).json;
	const NO_WORKERS = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };

	it("spec 2.6, D13: a fresh endpoint has all members at 0", async () => {
		expect(await health()).toEqual({
			jobs: { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 },
			workers: NO_WORKERS,
		});
	});

	it("D13: jobs move from the present counts into the totals", async () => {
		const worker = await handWorker(service, ep);
		const [a, b, c, d] = [
			await submitted(service, ep),
			await submitted(service, ep),
			await submitted(service, ep),
			await submitted(service, ep, { input: {}, policy: { ttl: 10_000 } }),
		];
		expect((await health()).jobs).toEqual({
			completed: 0,
			failed: 0,
			inProgress: 0,
			inQueue: 4,
			retried: 0,
		});
		await worker.takeThis(a);
		expect((await health()).jobs).toEqual({
			completed: 0,
			failed: 0,
			inProgress: 1,
			inQueue: 3,
			retried: 0,
		});
		await worker.done(a, { output: 1 });
		await worker.takeThis(b);
		await worker.done(b, { error: "x" });
		expect((await health()).jobs).toEqual({
			completed: 1,
			failed: 1,
			inProgress: 0,
			inQueue: 2,
			retried: 0,
		});
		await worker.takeThis(c);
		// Lost: two pings omit it. The worker gets the same job.
		for (const ms of [5000, 4600]) {
			await clock.advance(ms);
			await worker.ping();
		}
		await worker.takeThis(c);
		expect((await health()).jobs).toEqual({
			completed: 1,
			failed: 1,
			inProgress: 1,
			inQueue: 1,
			retried: 1,
		});
		await call(service.url, `/v2/${ep}/cancel/${c}`, { method: "POST" });
		await clock.advance(10_000);
		expect(await statusOf(service, ep, d)).toMatchObject({ status: "TIMED_OUT" });
		expect((await health()).jobs).toEqual({
			completed: 1,
			failed: 2,
			inProgress: 0,
			inQueue: 0,
			retried: 1,
		});
	});

	it("D13: an idle worker counts in idle and ready, a busy one in running, an unfit one in unhealthy", async () => {
		const [one, two] = [await handWorker(service, ep), await handWorker(service, ep)];
		await one.ping();
		expect((await health()).workers).toEqual({ ...NO_WORKERS, idle: 1, ready: 1 });
		await two.ping();
		expect((await health()).workers).toEqual({ ...NO_WORKERS, idle: 2, ready: 2 });
		const id = await submitted(service, ep);
		await one.takeThis(id);
		expect((await health()).workers).toEqual({ ...NO_WORKERS, idle: 1, ready: 1, running: 1 });
		await one.done(id, {});
		expect((await health()).workers).toEqual({ ...NO_WORKERS, idle: 2, ready: 2 });
		await call(service.url, `/worker/${ep}/ping/${two.id}?status=unhealthy&check=disk&reason=full`, {
			headers: { authorization: two.token },
		});
		expect((await health()).workers).toEqual({ ...NO_WORKERS, idle: 1, ready: 1, unhealthy: 1 });
	});

	it("D13: endpoints are counted apart", async () => {
		await submitted(service, ep);
		const worker = await handWorker(service, ep);
		await worker.ping();
		expect(await health(unused.next())).toEqual({
			jobs: { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 },
			workers: NO_WORKERS,
		});
	});

	it("D13: totals outlive the results they count", async () => {
		const worker = await handWorker(service, ep);
		const id = await submitted(service, ep);
		await worker.takeThis(id);
		await worker.done(id, {});
		await clock.advance(1_800_000);
		expectError(await call(service.url, `/v2/${ep}/status/${id}`), 404, "job_not_found");
		expect((await health()).jobs).toMatchObject({ completed: 1 });
	});
});
