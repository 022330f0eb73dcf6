/** Background responses (D58): created, polled, cancelled, deleted, listed, refused. */
import type { OpenAI } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../../support/service.ts";
import { endpointsByName, endWith, handWorker, type HandWorker } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { expectOpenAIError } from "../openai/answers.ts";
import { created, REQUEST, streamOf, workersResponse } from "./background-client.ts";

const clock = manualClock();
const unused = endpointsByName(60);
let service: TestService;
let ep: string;
let client: OpenAI;
let worker: HandWorker;
beforeAll(async () => {
	service = await startService({ endpoints: unused.settings, clock, pauseMs: Infinity });
});
beforeEach(async () => {
	ep = unused.next();
	client = clientOf(service, ep);
	worker = await handWorker(service, ep);
});
afterAll(() => endWith(service, clock));

const path = (rest = ""): string => `/v2/${ep}/openai/v1/responses${rest}`;
const jobOf = (response: string): string => response.slice("resp_".length);

/** A response whose job has ended with this report. */
async function ended(report: object | string, more: object = {}): Promise<string> {
	const { id } = await created(client, more);
	const job = await worker.takeThis(jobOf(id));
	await worker.done(job.id, report);
	return id;
}

describe("a response", () => {
	it("D58: is answered at once, polled until its worker has answered, and has its own id", async () => {
		const given = { instructions: "Be brief", metadata: { a: "b" }, temperature: 0.5 };
		const response = await created(client, given);
		expect(response).toMatchObject({
			id: expect.stringMatching(/^resp_[0-9a-f-]{36}$/),
			...{ object: "response", status: "queued", background: true, model: "m", output: [], error: null },
			...given,
			...{ top_p: 1, tools: [], tool_choice: "auto", parallel_tool_calls: true, usage: null, store: false },
			created_at: Math.floor(clock.now() / 1000),
		});
		const { id } = response;
		expect(await client.responses.retrieve(id)).toEqual(response);
		const job = await worker.takeThis(jobOf(id));
		expect(job.input).toEqual({
			openai_route: "/v1/responses",
			openai_background: { store: false, stream: false },
			openai_input: { ...REQUEST, ...given, background: false, stream: false, store: false },
		});
		expect(await client.responses.retrieve(id)).toEqual({ ...response, status: "in_progress" });
		await worker.done(job.id, { output: workersResponse("Boats") });
		const done = await client.responses.retrieve(id);
		const { created_at } = response;
		expect(done).toMatchObject({ id, created_at, status: "completed", background: true, output_text: "Boats" });
		expect((await call(service.url, `/v2/${ep}/status/${job.id}`)).json.status).toBe("COMPLETED");
	});

	it("D58, D5: request and result stay byte for byte, but for what is replaced", async () => {
		const rest = '"input":"\\u00e9","seed":12345678901234567890,"temperature":1.0}';
		const text = `{ "model":"m", "webhook" : null ,"background":true,"store": true,${rest}`;
		const { json, headers } = await call(service.url, path(), { text });
		expect(json).toMatchObject({ store: true, temperature: 1 });
		const job = await worker.takeThis(jobOf(json.id));
		expect(headers.get("x-request-id")).toBe(job.id);
		expect(job.text).toContain(`"openai_input":{ "model":"m", "background":false,"store": false,${rest}`);
		await worker.done(
			job.id,
			'{"output":[{"id":"x", "object":"response","n":1.0,"created_at":7,"status":"incomplete"}]}',
		);
		const found = await call(service.url, path(`/${json.id}`));
		expect(found.text).toBe(
			`{"background":true,"store":true,"id":"${json.id}", "object":"response","n":1.0,` +
				`"created_at":${json.created_at},"status":"incomplete"}`,
		);
	});

	it("D58: goes on when its client has left, and waits longer than 5 minutes for a worker", async () => {
		const { id, leave } = await streamOf(client);
		leave();
		await clock.leap(3_600_000);
		const job = await worker.takeThis(jobOf(id));
		await worker.done(job.id, { output: workersResponse("Boats") });
		expect((await client.responses.retrieve(id)).status).toBe("completed");
	});

	it("D58, D41: of megabytes is stored, shown and answered whole", async () => {
		const image = "a".repeat(3_000_000);
		const content = [{ type: "input_image", detail: "auto", image_url: `data:image/png;base64,${image}` }];
		const { id } = await created(client, { input: [{ role: "user", content }], model: "large" });
		expect(await client.responses.retrieve(id)).toMatchObject({ status: "queued", model: "large" });
		const job = await worker.takeThis(jobOf(id));
		expect(job.input.openai_input.input[0].content).toEqual(content);
		const [item] = (await client.responses.inputItems.list(id)).data;
		expect(item).toMatchObject({ type: "message", role: "user", content });
		await worker.done(job.id, { output: workersResponse(image) });
		const { output_text: text } = await client.responses.retrieve(id);
		expect(text === image).toBe(true);
	});

	it("D58, D14: one Idempotency-Key is one response", async () => {
		const headers = { "idempotency-key": "k" };
		const body = { ...REQUEST, background: true };
		const first = await call(service.url, path(), { body, headers });
		await clock.advance(60_000);
		expect((await call(service.url, path(), { body, headers })).json).toEqual(first.json);
		const other = await call(service.url, path(), { body: { ...body, input: "x" }, headers });
		expectOpenAIError(other, 409, "idempotency_reused");
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs.inQueue).toBe(1);
	});
});

describe("how it ends", () => {
	const lost = { object: "error", message: "no such model", type: "NotFoundError", param: "model", code: 404 };

	it.each([
		["an error", { error: "handler: out of memory\ntraceback: x" }, "out of memory"],
		["an error in OpenAI's form as its result", { output: lost }, "no such model"],
		["a result that is no response", { output: { object: "chat.completion" } }, /without a final event/],
		["no result", {}, /without a final event/],
	])("D58: a worker with %s: 200, failed", async (_, report, message) => {
		const response = await client.responses.retrieve(await ended(report));
		expect(response).toMatchObject({
			status: "failed",
			error: { code: "server_error", message: expect.stringMatching(message) },
			output: [],
			model: "m",
		});
	});

	it.each([["incomplete"], ["failed"]])("D58: the worker's own status %s is kept", async (status) => {
		const id = await ended({ output: workersResponse("half", { status }) });
		expect(await client.responses.retrieve(id)).toMatchObject({ id, status, output_text: "half" });
	});

	it("D58, D15: one that no worker has taken in a day is failed", async () => {
		const { id } = await created(client);
		await clock.leap(86_401_000);
		expect(await client.responses.retrieve(id)).toMatchObject({
			status: "failed",
			error: { code: "server_error", message: expect.stringMatching(/86400000 ms|in time|queue/) },
		});
	});

	it("D58, D18: cancelled, in the queue and while it runs; again without effect, and not after its end", async () => {
		const { output_text: _, ...waiting } = await created(client);
		const cancelled = await client.responses.cancel(waiting.id);
		expect(cancelled).toMatchObject({ ...waiting, status: "cancelled", completed_at: expect.any(Number) });
		expect(await client.responses.cancel(waiting.id)).toEqual(cancelled);
		const running = await created(client);
		await worker.takeThis(jobOf(running.id));
		expect((await client.responses.cancel(running.id)).status).toBe("cancelled");
		await worker.done(jobOf(running.id), { output: workersResponse("late") });
		expect((await client.responses.retrieve(running.id)).status).toBe("cancelled");
		const done = await ended({ output: workersResponse("done") });
		expect(await client.responses.cancel(done)).toMatchObject({ id: done, status: "completed" });
	});

	it("D58, D9: deleted at once, and cancelled if it has not ended", async () => {
		const done = await ended({ output: workersResponse("done") });
		const { id: waiting } = await created(client);
		for (const id of [done, waiting]) {
			const { json } = await call(service.url, path(`/${id}`), { method: "DELETE" });
			expect(json).toEqual({ id, object: "response", deleted: true });
			expectOpenAIError(await call(service.url, path(`/${id}`)), 404, "response_not_found");
			expectOpenAIError(await call(service.url, path(`/${id}`), { method: "DELETE" }), 404, "response_not_found");
		}
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs.inQueue).toBe(0);
	});

	it("D58, D9: kept 10 minutes after its end, with store as long as results of /run", async () => {
		const short = await ended({ output: workersResponse("a") });
		const long = await ended({ output: workersResponse("b") }, { store: true });
		await clock.leap(599_000);
		for (const id of [short, long]) expect((await client.responses.retrieve(id)).status).toBe("completed");
		await clock.advance(2000);
		await expect(client.responses.retrieve(short)).rejects.toMatchObject({
			status: 404,
			message: `404 Response with id '${short}' not found.`,
		});
		await clock.leap(1_198_000);
		expect(await client.responses.retrieve(long)).toMatchObject({ store: true });
		await clock.advance(2000);
		await expect(client.responses.retrieve(long)).rejects.toMatchObject({ status: 404 });
	});
});

describe("the items of its input", () => {
	it("D58: are pages in both orders", async () => {
		const input = Array.from({ length: 45 }, (_, n) => ({ role: "user", content: `${n}` }));
		const { id } = await created(client, { input });
		for (const order of ["asc", "desc"] as const) {
			const found: string[] = [];
			for await (const item of client.responses.inputItems.list(id, { order, limit: 20 }))
				found.push((item as any).content[0].text);
			expect(order === "asc" ? found : found.toReversed()).toEqual(input.map(({ content }) => content));
		}
		const first = (await client.responses.inputItems.list(id)).data;
		expect((first[0] as any).content[0].text).toBe("44");
		expect(first).toHaveLength(20);
		for (const [query, param] of [
			["limit=0", "limit"],
			["limit=101", "limit"],
			["order=up", "order"],
			["after=msg_x", "after"],
		])
			expect(
				expectOpenAIError(await call(service.url, path(`/${id}/input_items?${query}`)), 400, "bad_query").param,
			).toBe(param);
	});
});

describe("what is refused", () => {
	it.each([
		["previous_response_id", "resp_x"],
		["conversation", "conv_x"],
		["background_options", {}],
		["store", "yes"],
		["stream", 1],
		["webhook", "ftp://example.com"],
		["webhook", "http://127.0.0.1/"],
	])("D58: %s %j", async (name, value) => {
		const answer = await call(service.url, path(), { body: { ...REQUEST, background: true, [name]: value } });
		expect(expectOpenAIError(answer, 400, "bad_request").param).toBe(name);
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs.inQueue).toBe(0);
	});

	it("D58: an id of another endpoint, of a job of /run or of /openai, or of none", async () => {
		const run = (await call(service.url, `/v2/${ep}/run`, { body: { input: { openai_background: {} } } })).json.id;
		await worker.takeThis(run);
		const asked = call(service.url, path(), { body: { ...REQUEST, openai_background: {} } });
		const plain = (await worker.take({ busy: true }))!;
		const { id } = await created(client);
		const other = unused.next();
		const wrong = [
			...[run, plain.id, "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77"].map((job) => path(`/resp_${job}`)),
			`/v2/${other}/openai/v1/responses/${id}`,
		];
		for (const each of wrong)
			for (const [rest, method] of [
				["", "GET"],
				["?stream=true", "GET"],
				["/input_items", "GET"],
				["/cancel", "POST"],
				["", "DELETE"],
			] as const)
				expectOpenAIError(await call(service.url, each + rest, { method }), 404, "response_not_found");
		expect((await client.responses.retrieve(id)).status).toBe("queued");
		await worker.done(plain.id, { output: { own: true } });
		expect((await asked).json).toEqual({ own: true });
	});

	it("D58, D30: a key with read may only read, one of another endpoint nothing", async () => {
		const { id } = await created(client);
		const key = async (more: object): Promise<string> =>
			(await call(service.url, "/v1/keys", { body: { name: "k", ...more } })).json.key;
		const reader = await key({ scopes: ["read"] });
		const stranger = await key({ scopes: ["write"], endpoints: [unused.next()] });
		const status = async (rest: string, method: string, by: string): Promise<number> =>
			(await call(service.url, path(rest), { method, key: by })).status;
		expect(await status(`/${id}`, "GET", reader)).toBe(200);
		expect(await status(`/${id}/input_items`, "GET", reader)).toBe(200);
		expect(await status(`/${id}`, "HEAD", reader)).toBe(200);
		for (const [rest, method] of [
			[`/${id}/cancel`, "POST"],
			[`/${id}`, "DELETE"],
			["/resp_worker", "GET"],
		] as const)
			expect(await status(rest, method, reader)).toBe(401);
		expect(await status(`/${id}`, "GET", stranger)).toBe(401);
		expect((await client.responses.retrieve(id)).status).toBe("queued");
	});
});

describe("what a worker answers itself", () => {
	it.each([
		["GET", "/resp_0123456789abcdef0123456789abcdef", undefined],
		["GET", "/resp_x/input_items", undefined],
		["POST", "/resp_x/cancel", {}],
		["POST", "/input_tokens", { input: "x" }],
		["POST", "", { input: "x", background: false }],
		["POST", "", { input: "x", background: "true" }],
	])("D58, D32: %s %s", async (method, rest, body) => {
		const asked = call(service.url, path(rest), { method, ...(body && { body }) });
		const job = (await worker.take())!;
		expect(job.input).toEqual({ openai_route: `/v1/responses${rest}`, ...(body && { openai_input: body }) });
		await worker.done(job.id, { output: { own: true } });
		expect((await asked).json).toEqual({ own: true });
	});

	it("D58, D32: a background request under /sdk, where its id could not be asked for", async () => {
		const body = { ...REQUEST, background: true };
		const asked = call(service.url, `/sdk${path()}`, { body, key: KEY });
		const job = (await worker.take())!;
		expect(job.input.openai_input).toEqual(body);
		await worker.done(job.id, { output: { own: true } });
		expect((await asked).json).toEqual({ own: true });
	});
});
