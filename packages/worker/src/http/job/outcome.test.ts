import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import {
	answerWith,
	httpServer,
	manualClock,
	tcpServer,
	type TestServer,
} from "../../../../../test/support/worker-kit/http-servers.ts";
import { mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { serverAt } from "../exchange/connection.ts";
import { outcomeOf, sendUntilAnswered } from "./outcome.ts";

const servers: TestServer[] = [];
afterEach(async () => {
	for (const server of servers.splice(0)) await server.close();
});

/** Sends one request. `ready`: what a probe of the server says. */
function send(
	port: number,
	{
		ready = true,
		clock = systemClock,
		errors = {},
		stopped = new AbortController().signal,
	}: { ready?: boolean; clock?: Clock; errors?: object; stopped?: AbortSignal } = {},
) {
	const calls: string[] = [];
	const readiness = {
		answered: () => void calls.push("answered"),
		failed: (reason: string) => void calls.push(`failed ${reason}`),
		async probe() {
			calls.push("probe");
			return ready;
		},
	};
	const request = { method: "POST", path: "/", headers: {}, body: undefined, release: async () => {} };
	const mapping = mappingOf({ errors });
	const result = sendUntilAnswered(request, {
		errorPrefix: "",
		server: serverAt({ port }),
		errors: mapping.errors,
		readiness,
		connectMs: 5000,
		clock,
		random: () => 0,
		hide: (text) => text,
		onSent: (sent) => void calls.push(sent ? "sent" : "refused"),
		signal: new AbortController().signal,
		stopped,
	}).then(
		(answer) => ({ status: answer.status }),
		(error: Error & { loss?: boolean }) => ({ name: error.constructor.name, message: error.message, loss: error.loss }),
	);
	return { result, calls };
}

async function answering(answer: (response: ServerResponse, count: number) => void): Promise<TestServer> {
	let count = 0;
	const server = await httpServer((_request, response) => answer(response, (count += 1)));
	servers.push(server);
	return server;
}

const status = (code: number, body: string, headers = {}) =>
	answering((response) => response.writeHead(code, headers).end(body));

describe("outcomes", () => {
	it("a number in a list counts before a range, and busy before the others", () => {
		const { errors } = mappingOf({ errors: { fail: ["4xx", 503], busy: [429, "5xx"], lose: ["500-504"] } });
		const outcomes = [404, 429, 503, 500, 505, 301].map((each) => outcomeOf(each, errors));
		expect(outcomes).toEqual(["fail", "busy", "fail", "busy", "busy", "fail"]);
	});

	it("a 4xx fails with 4 KB of the body", async () => {
		const { port } = await status(422, `no prompt${"x".repeat(9000)}`);
		const { result, calls } = send(port);
		expect(await result).toEqual({
			name: "JobFailure",
			message: expect.stringMatching(/^HTTP 422: no promptx{4087}$/),
		});
		expect(calls).toEqual(["sent", "answered", "refused"]);
	});

	it("a redirect fails", async () => {
		const { port } = await status(302, "", { location: "/x" });
		expect(await send(port).result).toMatchObject({ name: "JobFailure", message: "HTTP 302: " });
	});

	it("a 500 of a server that is still ready fails the job; of one that is not, it is a loss", async () => {
		const { port } = await status(500, "CUDA out of memory");
		expect(await send(port).result).toMatchObject({ name: "JobFailure", message: "HTTP 500: CUDA out of memory" });
		const dead = send(port, { ready: false });
		expect(await dead.result).toMatchObject({ name: "JobReturn", loss: true });
		expect(dead.calls).toEqual(["sent", "answered", "refused", "probe"]);
	});

	it("a 502 is a loss", async () => {
		const { port } = await status(502, "bad gateway");
		expect(await send(port).result).toMatchObject({ name: "JobReturn", loss: true, message: "HTTP 502: bad gateway" });
	});

	it("refused: returned without a loss, and the server counts as not ready", async () => {
		const server = await httpServer(() => {});
		await server.close();
		const { result, calls } = send(server.port);
		expect(await result).toMatchObject({ name: "JobReturn", loss: false });
		expect(calls).toEqual([expect.stringContaining("failed connect ECONNREFUSED")]);
	});

	it("a reset after the request was sent: a loss, after one probe", async () => {
		const server = await tcpServer(answerWith("", (socket) => socket.resetAndDestroy()));
		servers.push(server);
		const { result, calls } = send(server.port);
		expect(await result).toMatchObject({
			name: "JobReturn",
			loss: true,
			message: expect.stringContaining("ECONNRESET"),
		});
		expect(calls).toEqual(["sent", "probe"]);
	});

	it("an answer that is not HTTP fails", async () => {
		const server = await tcpServer(answerWith("no\r\n\r\n"));
		servers.push(server);
		expect(await send(server.port).result).toMatchObject({ name: "JobFailure" });
	});
});

describe("a busy server", () => {
	it("is asked again after 1 s, doubled to 30 s, and returns the job after busyMs without a loss", async () => {
		const clock = manualClock();
		const { port, received } = await status(429, "overloaded");
		const { result } = send(port, { clock });
		for (const ms of [1000, 2000, 4000, 8000, 16_000, 29_000]) await clock.pass(ms);
		expect(await result).toEqual({
			name: "JobReturn",
			loss: false,
			message: "The server was busy for 60000 ms. HTTP 429: overloaded",
		});
		expect(received.length).toBe(7);
	});

	it.each([
		["3", 3000],
		["1.5", 1500],
		[new Date(1_003_000).toUTCString(), 3000],
		["0", 1000],
		["-5", 1000],
		[new Date(5000).toUTCString(), 1000],
	])("waits at least 1 s after Retry-After: %s", async (value, ms) => {
		const clock = manualClock(1_000_000);
		const { port } = await answering((response, count) =>
			count === 1 ? response.writeHead(503, { "retry-after": value }).end() : response.end("ok"),
		);
		const { result } = send(port, { clock });
		await clock.pass(ms);
		expect(await result).toEqual({ status: 200 });
	});

	it("is not asked again for a job that was stopped", async () => {
		const stop = new AbortController();
		const { port, received } = await answering((response) => {
			response.writeHead(429).end();
			stop.abort();
		});
		expect(await send(port, { clock: manualClock(), stopped: stop.signal }).result).toMatchObject({ name: "Error" });
		expect(received.length).toBe(1);
	});

	it("a 503 of a server that is not ready returns the job at once, without a loss", async () => {
		const { port } = await status(503, "engine dead");
		expect(await send(port, { ready: false }).result).toMatchObject({ name: "JobReturn", loss: false });
	});
});
