import { afterEach, describe, expect, it } from "vitest";
import {
	httpServer,
	type ManualClock,
	manualClock,
	type TestServer,
} from "../../../../../test/support/worker-kit/http-servers.ts";
import { mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import type { Clock } from "../../clock.ts";
import { serverAt } from "../exchange/connection.ts";
import { createReadiness, type ReadinessOptions } from "./readiness.ts";

const servers: TestServer[] = [];
afterEach(async () => {
	for (const server of servers.splice(0)) await server.close();
});

/** A server that answers its probes with `state`: a status, with a body. */
async function watched(
	ready: object = {},
	{
		clock = manualClock() as Clock,
		asleep = false,
		...more
	}: { clock?: Clock; asleep?: boolean } & Partial<ReadinessOptions> = {},
) {
	const state = { status: 200, body: "{}", asleep };
	const server = await httpServer((_request, response) => response.writeHead(state.status).end(state.body));
	servers.push(server);
	const lines: string[] = [];
	const lost: string[] = [];
	const readiness = createReadiness({
		server: serverAt({ port: server.port }),
		ready: mappingOf({ ready: { path: "/health", ...ready } }).ready,
		concurrency: 1,
		headers: { authorization: "t" },
		clock,
		log: (_level, message) => lines.push(message),
		isAsleep: () => state.asleep,
		hasEnded: () => false,
		hide: (text) => text,
		onLost: (reason) => lost.push(reason),
		...more,
	});
	return { state, server, lines, lost, readiness, clock: clock as ManualClock };
}

const never = new AbortController().signal;

describe("readiness", () => {
	it("waits until the server is ready, and logs its last answer every 10 s", async () => {
		const { state, server, lines, readiness, clock } = await watched({ everyMs: 6000 });
		Object.assign(state, { status: 503, body: "Loading model" });
		const ready = readiness.untilReady(never);
		for (let time = 0; time < 5; time += 1) await clock.pass(6000);
		// The next probe has begun, and its request has not been read.
		state.status = 200;
		await ready;
		expect(lines).toEqual([
			"Waiting for the server: HTTP 503 Loading model.",
			"Waiting for the server: HTTP 503 Loading model.",
			"The server is ready.",
		]);
		expect(server.received[0]).toMatchObject({ url: "/health", headers: { authorization: "t" } });
	});

	it("says that it is ready by a call in place of a line, also after a loss", async () => {
		let calls = 0;
		const { lines, readiness } = await watched({}, { onReady: () => void (calls += 1) });
		await readiness.probe();
		await readiness.probe();
		readiness.failed("connect ECONNREFUSED");
		await readiness.probe();
		expect([calls, lines]).toEqual([2, [expect.stringContaining("is not ready: connect ECONNREFUSED")]]);
	});

	it("is not ready by a server in place of its own, which has ended", async () => {
		const { readiness, server } = await watched({}, { hasEnded: () => server.received.length > 1 });
		expect([await readiness.probe(), await readiness.probe()]).toEqual([true, false]);
		expect(await readiness.mayTake()).toBe(false);
	});

	it("reads a state of the answer", async () => {
		const { state, readiness } = await watched({ where: { at: "/status", in: ["READY", "BUSY"] } });
		state.body = '{"status":"STARTING"}';
		expect(await readiness.probe()).toBe(false);
		state.body = '{"status":"BUSY"}';
		expect(await readiness.probe()).toBe(true);
		state.body = "not JSON";
		expect(await readiness.probe()).toBe(false);
	});

	it("asks before a take only after 10 s without an answer", async () => {
		const { server, readiness, clock } = await watched();
		await readiness.untilReady(never);
		clock.advance(9999);
		expect(await readiness.mayTake()).toBe(true);
		readiness.answered(404);
		clock.advance(9999);
		expect(await readiness.mayTake()).toBe(true);
		expect(server.received.length).toBe(1);
		clock.advance(1);
		expect(await readiness.mayTake()).toBe(true);
		expect(server.received.length).toBe(2);
	});

	it("never asks while a request is open, nor while the server sleeps", async () => {
		const { server, state, readiness, clock } = await watched();
		await readiness.untilReady(never);
		const closed = readiness.opened();
		clock.advance(100_000);
		expect(await readiness.mayTake()).toBe(true);
		closed();
		state.asleep = true;
		expect(await readiness.mayTake()).toBe(true);
		expect(server.received.length).toBe(1);
		state.asleep = false;
		await readiness.mayTake();
		expect(server.received.length).toBe(2);
	});

	it("takes nothing after a failed request until a probe succeeds, at most every everyMs", async () => {
		const { server, readiness, clock } = await watched({ everyMs: 2000 });
		await readiness.untilReady(never);
		readiness.failed("connect ECONNREFUSED");
		expect(await readiness.mayTake()).toBe(false);
		expect(server.received.length).toBe(1);
		clock.advance(2000);
		expect(await readiness.mayTake()).toBe(true);
		expect(server.received.length).toBe(2);
	});

	it("of several jobs: is asked again while one is open, and not lost meanwhile", async () => {
		const { server, state, lost, readiness, clock } = await watched({ everyMs: 2000 }, { concurrency: 2 });
		await readiness.untilReady(never);
		readiness.opened();
		state.status = 503;
		await readiness.probe();
		expect(await readiness.mayTake()).toBe(false);
		clock.advance(60_000);
		expect(await readiness.mayTake()).toBe(false);
		expect([server.received.length, lost]).toEqual([3, []]);
		state.status = 200;
		clock.advance(2000);
		expect(await readiness.mayTake()).toBe(true);
	});

	it("is ready by a job that the server did, and not by one that it refused", async () => {
		const { server, readiness } = await watched();
		await readiness.untilReady(never);
		readiness.opened();
		readiness.failed("HTTP 503");
		readiness.answered(422);
		expect(await readiness.mayTake()).toBe(false);
		readiness.answered(201);
		expect(await readiness.mayTake()).toBe(true);
		expect(server.received.length).toBe(1);
	});

	it("hides credentials of an answer before it is cut", async () => {
		const { state, lines, readiness } = await watched({}, { hide: (text) => text.replaceAll("t0ken", "***") });
		await readiness.probe();
		Object.assign(state, { status: 500, body: `${"x".repeat(197)}t0ken` });
		await readiness.probe();
		expect(lines.at(-1)).toContain("x***. No jobs");
	});

	it("is lost after lostAfterMs", async () => {
		const { state, lost, readiness, clock } = await watched({ lostAfterMs: 30_000 });
		await readiness.untilReady(never);
		state.status = 500;
		clock.advance(10_000);
		expect(await readiness.mayTake()).toBe(false);
		clock.advance(29_999);
		expect(await readiness.mayTake()).toBe(false);
		expect(lost).toEqual([]);
		clock.advance(1000);
		await readiness.mayTake();
		expect(lost).toEqual(["HTTP 500 {}"]);
	});

	it("is not lost by time in which a request was open", async () => {
		const { state, lost, readiness, clock } = await watched({ lostAfterMs: 30_000 });
		await readiness.untilReady(never);
		state.status = 500;
		const closed = readiness.opened();
		readiness.failed("HTTP 500");
		clock.advance(100_000);
		expect(await readiness.mayTake()).toBe(false);
		closed();
		clock.advance(2000);
		expect(await readiness.mayTake()).toBe(false);
		expect(lost).toEqual([]);
		clock.advance(10_000);
		readiness.answered(404);
		clock.advance(29_000);
		await readiness.mayTake();
		expect(lost).toEqual([]);
	});

	it("a probe has timeoutMs", async () => {
		const clock = manualClock();
		const asked = Promise.withResolvers<void>();
		const hanging = await httpServer(() => asked.resolve());
		servers.push(hanging);
		const readiness = createReadiness({
			server: serverAt({ port: hanging.port }),
			ready: mappingOf({ ready: { path: "/", timeoutMs: 1234 } }).ready,
			concurrency: 1,
			headers: {},
			clock,
			log: (_level, message) => lines.push(message),
			isAsleep: () => false,
			hasEnded: () => false,
			hide: (text) => text,
			onLost: () => {},
		});
		const lines: string[] = [];
		const probe = readiness.probe();
		await asked.promise;
		clock.advance(1234);
		expect(await probe).toBe(false);
	});

	it("without a path an accepted connection is enough", async () => {
		const { readiness, server, state } = await watched({ path: undefined });
		state.status = 500;
		expect(await readiness.probe()).toBe(true);
		expect(server.received.length).toBe(0);
		await server.close();
		expect(await readiness.probe()).toBe(false);
	});
});
