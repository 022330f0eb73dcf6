/** /openai/* (D32): failures of the job and refusals, in OpenAI's form. */
import { describe, expect, it } from "vitest";
import { KEY, call } from "../../../support/service.ts";
import { begun, submitted } from "../../hand-worker.ts";
import { asTimePasses, ask, expectOpenAIError } from "./answers.ts";
import { BODY, BOTH, answered, clock, ep, path, service, useCompletions, worker } from "./completions.ts";
import { rawConnection, requestText } from "../../raw-http.ts";

useCompletions();

describe("failures of the job", () => {
	const vllm =
		`{'message': 'vLLM returned HTTP 404: {"error":{"message":"The model \`x\` does ` +
		`not exist.","type":"NotFoundError","param":null,"code":404}}', 'type': 'worker_error', ` +
		"'code': None}";

	it.each([
		["vLLM's answer in a Python text", { error: vllm }, 404, 404, "The model `x` does not exist."],
		[
			"a failed handler",
			{
				error: '{"error_type":"ValueError","error_message":"no such seed","error_traceback":"Traceback"}',
			},
			500,
			"worker_failed",
			"no such seed",
		],
		["any other sentence", { error: "bad seed" }, 500, "worker_failed", "bad seed"],
		[
			"an output of OpenAI's error form",
			{
				output: { object: "error", message: "no", type: "BadRequestError", param: "n", code: 422 },
			},
			422,
			422,
			"no",
		],
		["the same in a list of one", { output: [{ error: { message: "no", code: 429 } }] }, 429, 429, "no"],
		["a status that is none", { error: { message: "odd", code: 302 } }, 500, 302, "odd"],
	])("D32: %s is an HTTP error, not to be tried again", async (_, report, status, code, message) => {
		const answer = await answered(({ id }) => worker.done(id, report));
		expect(expectOpenAIError(answer, status, code).message).toBe(message);
		expect(answer.headers.get("x-should-retry")).toBe("false");
		expect(answer.headers.get("retry-after")).toBeNull();
		expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
		expect(answer.text).not.toContain("Traceback");
	});

	it.each(BOTH)("D32: with no worker within 300 s it is 503, to be tried again: %j", async (body) => {
		const held = await begun(service.url, path, { body });
		await clock.advance(299_999);
		expect(held.over()).toBe(false);
		await clock.advance(1);
		const answer = await asTimePasses(clock, held.answer);
		expectOpenAIError(answer, 503, "no_worker_in_time");
		expect(answer.headers.get("retry-after")).toBe("5");
		expect(answer.headers.get("x-should-retry")).toBeNull();
	});

	it.each(BOTH)("D32: over the endpoint's execution timeout it is 504: %j", async (body) => {
		const held = await begun(service.url, path, { body });
		const { id } = (await worker.take())!;
		await worker.ping(id);
		await clock.advance(9999);
		expect(held.over()).toBe(false);
		await clock.advance(1);
		const answer = await asTimePasses(clock, held.answer);
		expectOpenAIError(answer, 504, "job_timed_out");
		expect(answer.headers.get("x-should-retry")).toBe("false");
	});

	it.each(BOTH)("D32: a job that another client cancels is 409, not to be tried again: %j", async (body) => {
		const answer = await answered(
			async ({ id }) => {
				await call(service.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
			},
			{ body },
		);
		expectOpenAIError(answer, 409, "job_cancelled");
		expect(answer.headers.get("x-should-retry")).toBe("false");
	});
});

describe("a purge", () => {
	it.each(BOTH)("D11, D32: a waiting request is answered as for a cancelled job: %j", async (body) => {
		const queued = service.next("job.queued", ({ endpoint }) => endpoint === ep);
		const asking = begun(service.url, path, { body });
		await queued;
		expect((await call(service.url, `/v2/${ep}/purge-queue`, { method: "POST" })).json).toMatchObject({ removed: 1 });
		const answer = await (await asking).answer;
		expectOpenAIError(answer, 409, "stream" in body ? "job_removed" : "job_cancelled");
		expect(answer.headers.get("x-should-retry")).toBe("false");
	});
});

describe("refusals", () => {
	it.each(["/v2", "/sdk/v2"])("D32, D3: under %s they have OpenAI's form and our statuses", async (prefix) => {
		const at = (endpoint: string): string => `${prefix}/${endpoint}/openai/v1/completions`;
		const unauthorized = await call(service.url, at(ep), {
			body: BODY,
			key: "wrong-key-0123456789",
		});
		expectOpenAIError(unauthorized, 401, "unauthorized");
		expect(unauthorized.headers.get("www-authenticate")).toMatch(/^Bearer/);
		expectOpenAIError(await call(service.url, at("nowhere"), { body: BODY, key: null }), 401, "unauthorized");
		expectOpenAIError(await call(service.url, at("nowhere"), { body: BODY }), 404, "endpoint_not_found");
		const wrongMethod = await call(service.url, at(ep), { method: "DELETE" });
		expectOpenAIError(wrongMethod, 405, "method_not_allowed");
		expect(wrongMethod.headers.get("allow")).toBe("GET, HEAD, POST");
	});

	it.each([
		"",
		"nonsense",
		"[]",
		'"text"',
		"null",
		'{"a":NaN}',
		`{"a":${"[".repeat(500)}${"]".repeat(500)}}`,
		`{"a":${"9".repeat(4001)}}`,
	])("D4: a body that is no JSON object within the bounds is 400 (%#)", async (text) => {
		expectOpenAIError(await call(service.url, path, { method: "POST", text }), 400, "bad_json");
	});

	it("D4: nesting of 500 and integers of 4,000 digits pass", async () => {
		const text = `{"a":${"[".repeat(499)}${"]".repeat(499)},"b":${"9".repeat(4000)}}`;
		const answer = await answered(({ id }) => worker.done(id, { output: { ok: true } }), { text });
		expect(answer.json).toEqual({ ok: true });
	});

	it("D3: a body over 20 MB is 413 before it is sent, one of 20 MB passes", async () => {
		const connection = await rawConnection(service.url);
		connection.write(
			requestText({
				method: "POST",
				path,
				headers: { Authorization: KEY, "Content-Length": "20971521" },
			}),
		);
		expectOpenAIError(await connection.answer(), 413, "body_too_large");
		connection.socket.destroy();
		const text = `{"a":"${"x".repeat(20_971_520 - 8)}"}`;
		const answer = await answered(({ id }) => worker.done(id, { output: { ok: true } }), { text });
		expect(answer.json).toEqual({ ok: true });
	});

	it("D24: over its rate limit it is 429 with Retry-After", async () => {
		const queued = service.next("job.queued", ({ endpoint }) => endpoint === "busy");
		const first = ask(service.url, "/v2/busy/openai/v1/completions", BODY);
		await queued;
		const answer = await call(service.url, "/v2/busy/openai/v1/completions", { body: BODY });
		expect(expectOpenAIError(answer, 429, "rate_limited").type).toBe("rate_limit_error");
		expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
		const left = service.next("job.settled", ({ endpoint }) => endpoint === "busy");
		first.hangUp();
		await left;
	});

	it("D23: a full queue is 429 with Retry-After", async () => {
		await submitted(service, "full");
		const answer = await call(service.url, "/v2/full/openai/v1/completions", { body: BODY });
		expect(expectOpenAIError(answer, 429, "queue_full").type).toBe("rate_limit_error");
		expect(answer.headers.get("retry-after")).toBe("5");
		expect(answer.headers.get("x-should-retry")).toBeNull();
	});

	it.each([
		["GET", "v1/files/"],
		["POST", "v1/batches/"],
		["GET", "v1/responses/"],
		["POST", "v1/uploads/"],
		["HEAD", "v1/files/"],
	])("D32: %s %s, with an empty id, is 404 and no job", async (method, rest) => {
		const path = `/v2/${ep}/openai/${rest}`;
		const answer = await call(service.url, path, { method, ...(method === "POST" && { body: BODY }) });
		expect(answer.status).toBe(404);
		if (method !== "HEAD")
			expect(expectOpenAIError(answer, 404, "openai_path_not_found").message).toBe(
				`There is no ${method} ${path}: no path of OpenAI's API ends with a slash.`,
			);
		expect((await call(service.url, `/v2/${ep}/health`)).json.jobs.inQueue).toBe(0);
	});
});
