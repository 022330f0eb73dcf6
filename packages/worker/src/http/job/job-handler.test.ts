import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { manualClock, type Received } from "../../../../../test/support/worker-kit/http-servers.ts";
import { closeServers, handlerOf, json } from "../../../../../test/support/worker-kit/job-handler.ts";
import { cancelBy } from "../../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../../clock.ts";

afterEach(closeServers);

/** Where a link leads; empty if it is closed by now. */
function linkOf(path: string): string {
	try {
		return readlinkSync(path);
	} catch {
		return "";
	}
}

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

	it("does not show the server's credentials in errors and logs", async () => {
		const request = { headers: { authorization: "Bearer {env.TOKEN}" } };
		const cancel = { path: "/cancel" };
		const stop = new AbortController();
		const mapping = { request, cancel: cancelBy("close", cancel), errors: { lose: [502] } };
		const { run, logs } = await handlerOf(mapping, ({ url, body, headers }, response) => {
			const status = Number(body.toString());
			if (url === "/cancel") response.socket!.destroy();
			else if (status > 0) response.writeHead(status).end(`no ${headers.authorization}`);
			else stop.abort();
		});
		expect(await run(422)).toEqual({ error: "HTTP 422: no Bearer ***" });
		expect(await run(502)).toMatchObject({ message: "HTTP 502: no Bearer ***", loss: true });
		await run(0, stop.signal);
		expect(logs.join("")).not.toContain("t0ken");
	});

	/** A token of the server is hidden although a bound of the error falls within it. */
	it.each([
		["a refusal", 422, "x".repeat(4090), (text: string) => `HTTP 422: ${"x".repeat(4090)}${text}`],
		["a rule of failed", 200, "x".repeat(4604), (text: string) => `${"x".repeat(4604)}${text}...`],
	])("does not show a part of a credential where %s is cut", async (_name, status, before, error) => {
		const request = { headers: { authorization: "{env.TOKEN}" } };
		const { run } = await handlerOf({ request, failed: [{ at: "/e", message: "/e" }] }, ({ headers }, response) => {
			const text = `${before}${headers.authorization}${"y".repeat(9000)}`;
			if (status === 200) json(response, { e: text });
			else response.writeHead(status).end(text);
		});
		expect(await run({})).toEqual({ error: status === 200 ? error("***y") : error("***") });
	});

	it("hides a credential also as JSON has it, and cuts an error at about 4 KB", async () => {
		const request = { headers: { authorization: "{env.QUOTED}" } };
		const { run } = await handlerOf({ request }, ({ body }, response) => {
			if (body.includes("long")) return response.setHeader("content-type", "application/json").end("x".repeat(9000));
			return json(response, { detail: 'of to"ken' }, 422);
		});
		expect(await run({})).toEqual({ error: 'HTTP 422: {"detail":"of ***"}' });
		const { error } = (await run({ long: 1 })) as { error: string };
		expect([error.startsWith("The answer is not JSON "), error.length]).toEqual([true, 4611]);
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

	it("an error without a text fails all the same", async () => {
		const stream = { as: "ndjson", when: "always", error: "/error" };
		const { run } = await handlerOf({ stream }, (_request, response) => response.end('{"error":""}\n'));
		expect(await run({})).toEqual([{ error: '{"error":""}' }]);
	});

	it("frees each file that the server wants first when the server has it", async () => {
		const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
		const files = [{ field: "f", from: "{each}" }];
		const uploads = [{ each: "{input.files}", path: "/files", files }];
		let most = 0;
		const { run, server } = await handlerOf(
			{ request: { path: "/job", urls: "any", uploads } },
			({ url }, response) => {
				if (url === "/source") return response.end(Buffer.alloc(2_000_000));
				// Temporary files have no name, and are open as long as they are kept.
				const open = readdirSync("/proc/self/fd").map((fd) => linkOf(`/proc/self/fd/${fd}`));
				most = Math.max(most, open.filter((path) => path.startsWith(folder)).length);
				return json(response, "done");
			},
			systemClock,
			folder,
		);
		const source = `http://127.0.0.1:${server.port}/source`;
		expect(await run({ files: Array<string>(4).fill(source) })).toBe("done");
		expect(most).toBe(1);
		rmSync(folder, { recursive: true });
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
			if (url === "/") return json(response, { id: "a 1" }, 202);
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
			...Array<string>(4).fill("GET /jobs/a%201"),
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

	it("a failed state with an empty message fails", async () => {
		const failed = [{ at: "/state", in: ["failed"], message: "/why" }];
		const { run } = await handlerOf({ async, failed }, states({ state: "failed", why: "" }));
		expect(await run({})).toEqual({ error: '{"state":"failed","why":""}' });
	});

	it.each([
		["the submission", { error: { message: "queue full" } }, { state: "done" }],
		["a poll", { id: "1" }, { error: { message: "queue full" } }],
	])("a refusal under 200 of %s fails", async (_name, submission, state) => {
		const failed = [{ at: "/error", message: "/error/message" }];
		const { run } = await handlerOf({ async, failed }, ({ url }, response) =>
			json(response, url === "/" ? submission : state),
		);
		expect(await run({})).toEqual({ error: "queue full" });
	});

	it.each([
		["is never answered", () => {}],
		["is answered in part", (response: ServerResponse) => response.write("{")],
	])("a poll that %s for 60 s is repeated, and for longer than busyMs is a loss", async (_name, answer) => {
		const clock = manualClock();
		let polls = 0;
		const { run } = await handlerOf(
			{ async },
			({ url }, response) => {
				if (url === "/") return json(response, { id: "1" });
				polls += 1;
				return polls === 2 ? json(response, { state: "running" }) : answer(response);
			},
			clock,
		);
		const result = run({});
		const silentFor60s = async (count: number): Promise<void> => {
			await clock.pass(50);
			while (polls < count) await new Promise((resolve) => setImmediate(resolve));
			await clock.pass(60_000);
		};
		await silentFor60s(1);
		await clock.pass(50);
		await silentFor60s(3);
		await silentFor60s(4);
		expect(await result).toMatchObject({
			message: "Polls failed for 60000 ms: nothing arrived for 60000 ms",
			loss: true,
		});
		expect(polls).toBe(4);
	});

	it("asks a busy server for the result again, and any other refusal of it is a loss", async () => {
		const mapping = { async: { ...async, result: { path: "/result" } } };
		const refusals = [503, 429];
		const { run } = await handlerOf(mapping, (request, response) => {
			const status = request.url === "/result" ? refusals.shift() : undefined;
			if (status === undefined) states({ state: "done" })(request, response);
			else response.writeHead(status).end("no");
		});
		expect(await run({})).toEqual({ picture: "/result" });
		refusals.push(404);
		expect(await run({})).toMatchObject({ name: "JobReturn", loss: true });
	});

	it.each([
		[{ id: "x".repeat(100) }, { state: "done" }],
		[{ id: 1 }, { state: "done", x: "x".repeat(100) }],
	])("fails for an answer over maxBytes: %j, %j", async (submission, state) => {
		const { run } = await handlerOf({ async, answer: { maxBytes: 60 } }, ({ url }, response) =>
			json(response, url === "/" ? submission : state),
		);
		expect(await run({})).toEqual({ error: expect.stringContaining("larger than 60 bytes (http.answer.maxBytes)") });
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
