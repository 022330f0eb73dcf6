import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import {
	httpServer,
	type ManualClock,
	manualClock,
	type Received,
	type TestServer,
} from "../../../../test/support/worker-kit/http-servers.ts";
import { cancelBy, jobOf, mappingOf } from "../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../clock.ts";
import { RawJson } from "../raw-json.ts";
import { StreamOutput } from "../stream-output.ts";
import { serverAt } from "./connection.ts";
import { createJobHandler } from "./job-handler.ts";
import { createReadiness } from "./readiness.ts";

const servers: TestServer[] = [];
afterEach(async () => {
	for (const server of servers.splice(0)) await server.close();
});

/** A handler before a server. `answer` gets the requests; what the handler does is recorded. */
async function handlerOf(
	mapping: object,
	answer: (request: Received, response: ServerResponse) => void,
	clock: typeof systemClock | ManualClock = systemClock,
) {
	const server = await httpServer(answer);
	servers.push(server);
	const whole = mappingOf({ ...mapping, port: server.port });
	const kills: string[] = [];
	const progress: unknown[] = [];
	const logs: string[] = [];
	const place = serverAt({ port: server.port });
	const readiness = createReadiness({
		server: place,
		ready: whole.ready,
		headers: {},
		clock,
		log: () => {},
		isAsleep: () => false,
		onLost: () => {},
	});
	const handler = createJobHandler({
		mapping: whole,
		server: place,
		port: server.port,
		env: { TOKEN: "t" },
		readiness,
		kill: (reason) => void kills.push(reason),
		clock,
		randomId: () => "b",
	});
	/** Runs one job; a stream's chunks are a list. */
	async function run(
		input: unknown,
		signal = new AbortController().signal,
		onChunk: () => void = () => {},
	): Promise<unknown> {
		const context = {
			signal,
			workerId: "w",
			log: (line: string) => void logs.push(line),
			progress: async (value: unknown) => void progress.push(value),
		};
		try {
			const value = (await handler(jobOf(input, { run: 1 }), context)) as unknown;
			if (value instanceof RawJson || !(Symbol.asyncIterator in (value as object))) return shown(value);
			const chunks: unknown[] = [];
			for await (const each of value as AsyncIterable<unknown>) {
				chunks.push(shown(each));
				onChunk();
			}
			return chunks;
		} catch (error) {
			return error;
		}
	}
	return { run, server, kills, progress, logs };
}

const shown = (value: unknown): unknown =>
	value instanceof RawJson || value instanceof StreamOutput ? JSON.parse(value.text) : value;

const json = (response: ServerResponse, value: unknown, status = 200): void =>
	void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

describe("a job", () => {
	it("becomes a request, and its answer the output", async () => {
		const { run, server } = await handlerOf({}, (request, response) =>
			json(response, { echo: request.body.toString() }),
		);
		expect(await run({ a: 1 })).toEqual({ echo: '{"a":1}' });
		expect(server.received[0]!.headers).toMatchObject({ "idempotency-key": "7f-1", "x-request-id": "sync-7f" });
	});

	it("fails with what is wrong", async () => {
		const request = { path: "/{input.model}" };
		const { run, server } = await handlerOf({ request }, (_request, response) => json(response, { detail: "no" }, 422));
		expect(await run({})).toEqual({ error: "The path of the request needs input.model, which the job does not have." });
		expect(server.received).toEqual([]);
		expect(await run({ model: "m" })).toEqual({ error: 'HTTP 422: {"detail":"no"}' });
	});

	it("streams where the input asks for it and the server does", async () => {
		const { run, server } = await handlerOf({ stream: { as: "sse", output: "text" } }, ({ body }, response) => {
			if (body.includes('"plain"')) return json(response, "whole");
			return response.writeHead(200, { "content-type": "text/event-stream" }).end("data: a\n\ndata: b\n\n");
		});
		expect(await run({ stream: true })).toEqual(["a", "b", "ab"]);
		expect(await run({ stream: true, plain: 1 })).toBe("whole");
		expect(await run({ stream: false, plain: 1 })).toBe("whole");
		expect(server.received.map(({ headers }) => headers.accept)).toEqual([
			"text/event-stream",
			"text/event-stream",
			"*/*",
		]);
	});

	it("a stream that breaks is a loss, one with an error fails", async () => {
		const stream = { as: "ndjson", when: "always", error: "/error" };
		const { run } = await handlerOf({ stream }, ({ body }, response) => {
			if (body.includes("break")) response.write('{"a":1}\n', () => response.destroy());
			else response.end('{"a":1}\n{"error":"bad"}\n');
		});
		expect(await run({ x: 1 })).toEqual([{ a: 1 }, { error: "bad" }]);
		expect(await run({ x: "break" })).toMatchObject({ name: "JobReturn", loss: true });
	});

	it("reports progress of another path while the request is open", async () => {
		const clock = manualClock();
		let finish = (): void => {};
		const { run, progress } = await handlerOf(
			{ progress: { path: "/progress", percent: "/progress", scale: 100, everyMs: 700 } },
			(request, response) => {
				if (request.url === "/progress") {
					json(response, { progress: 0.256 });
					finish();
				} else finish = () => json(response, "done");
			},
			clock,
		);
		const result = run({});
		await clock.pass(700);
		expect(await result).toBe("done");
		expect(progress.every((each) => JSON.stringify(each) === '{"percent":25.6}')).toBe(true);
	});
});

describe("the asynchronous form", () => {
	const async = {
		path: "/jobs/{submit.id}",
		state: "/state",
		done: ["done"],
		failed: ["failed"],
		cancelled: ["cancelled"],
		everyMs: 50,
	};

	/** A server whose job has each of `states` once, the last one for good. */
	const states = (...list: (object | number)[]) => {
		let at = 0;
		return ({ url }: Received, response: ServerResponse): void => {
			if (url === "/") return json(response, { id: "a/1" }, 202);
			if (url.startsWith("/result")) return json(response, { picture: url });
			const state = list[Math.min(at, list.length - 1)]!;
			at += 1;
			if (typeof state === "number") response.writeHead(state).end("no");
			else json(response, state);
		};
	};

	it("polls until it is done, with progress, and fetches the result", async () => {
		const mapping = {
			async: { ...async, result: { path: "/result/{poll.key}" } },
			progress: { from: "poll", percent: "/percent", everyMs: 10 },
			answer: { at: "/picture" },
		};
		const { run, server, progress } = await handlerOf(
			mapping,
			states({ state: "queued" }, 503, { state: "running", percent: 40 }, { state: "done", key: "k" }),
		);
		expect(await run({})).toBe("/result/k");
		expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
			"POST /",
			...Array<string>(4).fill("GET /jobs/a%2F1"),
			"GET /result/k",
		]);
		expect(server.received.filter(({ headers }) => "idempotency-key" in headers)).toHaveLength(1);
		expect(progress).toEqual([{ percent: 40 }]);
	});

	it.each<[string, (object | number)[], object]>([
		["the last poll has the result", [{ state: "done", x: 1 }], { state: "done", x: 1 }],
		["a failed state fails", [{ state: "failed", why: "oom" }], { error: expect.stringContaining("oom") }],
		[
			"a cancelled state fails",
			[{ state: "cancelled" }],
			{ error: expect.stringContaining("cancelled on the server") },
		],
		["404 is a loss", [{ state: "queued" }, 404], { name: "JobReturn", loss: true }],
		["another 4xx fails", [401], { error: "A poll of the job failed: HTTP 401: no" }],
	])("%s", async (_name, list, result) => {
		const { run } = await handlerOf({ async }, states(...list));
		expect(await run({})).toEqual("name" in result ? expect.objectContaining(result) : result);
	});

	it("a server that misses the job only for a time is asked again", async () => {
		const mapping = { async: { ...async, missingAfterMs: 60_000 } };
		const { run } = await handlerOf(mapping, states(404, 404, { state: "done" }));
		expect(await run({})).toEqual({ state: "done" });
	});

	it("a stopped job is cancelled by its route, and the handler waits for the state", async () => {
		const stop = new AbortController();
		let state = "running";
		const { run, server, kills } = await handlerOf(
			{ async, cancel: { method: "DELETE", path: "/jobs/{submit.id}" } },
			({ method, url }, response) => {
				if (method === "DELETE") state = "cancelled";
				json(response, { id: "1", state });
				if (method === "GET" && url !== "/") stop.abort();
			},
		);
		await run({}, stop.signal);
		expect(server.received.map(({ method, url }) => `${method} ${url}`)).toContain("DELETE /jobs/1");
		expect([state, kills]).toEqual(["cancelled", []]);
	});

	it("a job that is stopped while it is submitted, is cancelled by the id of the answer", async () => {
		const stop = new AbortController();
		const seen: string[] = [];
		const { run, kills } = await handlerOf(
			{ async, cancel: { path: "/jobs/{submit.id}/cancel" } },
			({ url }, response) => {
				seen.push(url);
				if (url !== "/") return json(response, { state: seen.includes("/jobs/7/cancel") ? "cancelled" : "running" });
				stop.abort();
				return setImmediate(() => json(response, { id: "7" }));
			},
		);
		await run({}, stop.signal);
		expect([seen.includes("/jobs/7/cancel"), kills]).toEqual([true, []]);
	});

	it("a server that goes on after the cancellation is ended", async () => {
		const stop = new AbortController();
		const { run, kills } = await handlerOf({ async, cancel: { waitMs: 150 } }, (_request, response) => {
			json(response, { id: "1", state: "running" });
			stop.abort();
		});
		await run({}, stop.signal);
		expect(kills).toEqual(["its job did not end in 150 ms"]);
	});
});

describe("a stop of the service", () => {
	/** A request that stays open. */
	async function open(mapping: object, onCancel: (finish: () => void) => void = () => {}) {
		const stop = new AbortController();
		const closed = Promise.withResolvers<void>();
		let finish = (): void => {};
		const started = await handlerOf(mapping, (request, response) => {
			if (request.url === "/cancel") {
				json(response, {});
				return onCancel(finish);
			}
			response.on("close", () => closed.resolve());
			finish = () => json(response, "half");
			stop.abort();
		});
		return { ...started, stop, closed: closed.promise };
	}

	it("close: closes the connection at once, and does not end the server", async () => {
		const { run, stop, closed, kills } = await open({});
		await run({}, stop.signal);
		await closed;
		expect(kills).toEqual([]);
	});

	it("wait: calls the route and lets the request end", async () => {
		const cancel = cancelBy("wait", { path: "/cancel" });
		const { run, stop, kills } = await open({ cancel }, (finish) => finish());
		expect(await run({}, stop.signal)).toBe("half");
		expect(kills).toEqual([]);
	});

	it("the handler returns only after the answer to the route", async () => {
		const order: string[] = [];
		const stop = new AbortController();
		let finish = (): void => {};
		const cancel = cancelBy("wait", { path: "/cancel" });
		const { run } = await handlerOf({ cancel }, ({ url }, response) => {
			if (url === "/") {
				finish = () => json(response, "half");
				return stop.abort();
			}
			finish();
			response.on("finish", () => order.push("cancelled"));
			return void systemClock.sleep(50).then(() => json(response, {}));
		});
		await run({}, stop.signal);
		expect([...order, "returned"]).toEqual(["cancelled", "returned"]);
	});

	it("wait: ends a server whose request stays open", async () => {
		const { run, stop, closed, kills } = await open({ cancel: cancelBy("wait", { path: "/cancel", waitMs: 100 }) });
		await run({}, stop.signal);
		await closed;
		expect(kills).toEqual(["its job did not end in 100 ms"]);
	});

	it("kill: ends the server", async () => {
		const { run, stop, kills } = await open({ cancel: cancelBy("kill") });
		await run({}, stop.signal);
		expect(kills).toEqual(["its job was cancelled"]);
	});

	it("never ends a server that has other jobs", async () => {
		const stops = [new AbortController(), new AbortController()];
		let count = 0;
		const { run, kills } = await handlerOf({ concurrency: 2, cancel: cancelBy("kill") }, (_request, response) => {
			count += 1;
			if (count === 2) stops[0]!.abort();
			response.on("close", () => stops[1]!.abort());
		});
		const first = run({}, stops[0]!.signal);
		const second = run({}, stops[1]!.signal);
		await first;
		expect(kills).toEqual([]);
		stops[1]!.abort();
		await second;
		expect(kills).toEqual(["its job was cancelled"]);
	});

	it("ends a stream", async () => {
		const stop = new AbortController();
		const { run } = await handlerOf({ stream: { as: "text", when: "always" } }, (_request, response) => {
			response.write("a");
			stop.abort();
		});
		await run({}, stop.signal);
	});
});

describe("silence", () => {
	it("of a stream is a loss, and ends the server", async () => {
		const mapping = { stream: { as: "text", when: "always" }, timeouts: { silenceMs: 80 } };
		const { run, kills } = await handlerOf(mapping, (_request, response) => response.write("a"));
		expect(await run({})).toMatchObject({ message: "The server sent nothing for 80 ms.", loss: true });
		expect(kills).toEqual(["it sent nothing for 80 ms"]);
	});

	it("is not that of a stream whose chunks the service does not take", async () => {
		const clock = manualClock();
		const stream = { as: "ndjson", when: "always" };
		const { run, kills } = await handlerOf(
			{ stream, timeouts: { silenceMs: 80 } },
			(_request, response) => response.end("1\n2\n"),
			clock,
		);
		expect(await run({}, undefined, () => clock.advance(100))).toEqual([1, 2, [1, 2]]);
		expect(kills).toEqual([]);
	});

	it("of a poll is a loss", async () => {
		const mapping = {
			async: { path: "/j", done: ["d"], everyMs: 10 },
			cancel: { waitMs: 50 },
			timeouts: { silenceMs: 80 },
		};
		const { run } = await handlerOf(mapping, ({ url }, response) => {
			if (url === "/") json(response, {});
		});
		expect(await run({})).toMatchObject({ message: "The server sent nothing for 80 ms.", loss: true });
	});
});
