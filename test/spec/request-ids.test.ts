/** `X-Request-Id`: one id of a request in its answer, the logs, the audit log and with its job (D51). */
import type { IncomingHttpHeaders } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/modules/tables.ts";
import { call, KEY, startService, type TestService } from "../support/service.ts";
import { request } from "../support/transport.ts";
import { webhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import { handWorker } from "./hand-worker.ts";
import { keyWith, operator } from "./operator.ts";

const ID = "client-1/of:2026";

let service: TestService;
let receiver: WebhookReceiver;
beforeAll(async () => {
	receiver = await webhookReceiver();
	service = await startService({
		endpoints: {
			ep: {},
			hooked: {},
			plain: {},
			chat: {},
			passing: { passRequestId: true },
			limited: { limits: { queue: 0 } },
		},
		settings: { webhooks: { allowPrivateNetworks: true } },
	});
});
afterAll(async () => {
	await service.end();
	await receiver.end();
});

/** Raw, because `fetch` follows redirects and changes headers. */
function idOf(path: string, method = "GET", headers: Record<string, string | string[]> = {}): Promise<string> {
	return new Promise((resolve, reject) => {
		request(`${service.url}${path}`, { method, headers }, (response) => {
			const { "x-request-id": id }: IncomingHttpHeaders = response.headers;
			response.destroy();
			resolve(String(id));
		})
			.on("error", reject)
			.end();
	});
}

describe("in the answer", () => {
	const SAMPLES: Readonly<Record<string, string>> = { endpoint: "ep", job: "none", worker: "w" };
	const all = ROUTES.filter(({ poll, signIn }) => !poll && !signIn).flatMap(({ methods, path }) =>
		methods.map(
			(method) =>
				[method, path.replace(/:(\w+)/g, (_, name: string) => SAMPLES[name] ?? "x").replace("*", "x")] as const,
		),
	);

	it("D51: the client's, at every route", async () => {
		// Without a key nothing is changed, and what needs none answers.
		for (const [method, path] of all)
			expect([method, path, await idOf(path, method, { "x-request-id": ID })]).toEqual([method, path, ID]);
	});

	it.each([
		["a success", "/v2/ep/health", "GET"],
		["a list", "/v1/endpoints", "GET"],
		["Prometheus", "/metrics", "GET"],
		["a stream of events", "/v1/feed", "GET"],
		["lines that are followed", "/v1/logs?follow=true", "GET"],
		["a bad body", "/v2/ep/run", "POST"],
		["no such path", "/nothing", "GET"],
		["a wrong method", "/v2/ep/run", "DELETE"],
		["a preflight", "/v2/ep/run", "OPTIONS"],
		["the management API", "/v2/pods", "GET"],
		["a page of an error", "/v1/nothing", "GET"],
	])("D51: of %s", async (_, path, method) => {
		const headers = { authorization: KEY, accept: "text/html, text/event-stream" };
		expect(await idOf(path, method, { ...headers, "x-request-id": ID })).toBe(ID);
		expect(await idOf(path, method, headers)).toMatch(/^[0-9a-f]{16}$/);
	});

	it("D51: of a poll with a job, and of one without", async () => {
		const worker = await handWorker(service, "plain");
		await call(service.url, "/v2/plain/run", { body: { input: {} } });
		const poll = () =>
			call(service.url, `/worker/plain/job-take/${worker.id}?job_in_progress=1`, {
				headers: { authorization: worker.token, "x-request-id": ID },
			});
		const taken = await poll();
		expect([taken.status, taken.headers.get("x-request-id")]).toEqual([200, ID]);
		await worker.done(taken.json.id, { output: 1 });
		expect(taken.json).toEqual({ id: taken.json.id, input: {} });
	});

	it.each([
		["empty", ""],
		["a space", "a b"],
		["a quote", 'a"b'],
		["an apostrophe", "a'b"],
		["another byte", "caf\u00e9"],
		["129 characters", "x".repeat(129)],
		["a key within", "id-sluice_0123"],
		["a webhook secret", "whsec_0123"],
		["two headers", ["a", "b"]],
	])("D51: one that cannot be used is replaced: %s", async (_, id) => {
		expect(await idOf("/healthz", "GET", { "x-request-id": id })).toMatch(/^[0-9a-f]{16}$/);
	});

	it("D51: one that has the credential of its request is replaced", async () => {
		const headers = { authorization: "Bearer of-another-service", "x-request-id": "of-another-service/1" };
		expect(await idOf("/healthz", "GET", headers)).toMatch(/^[0-9a-f]{16}$/);
	});

	it("D51: a guess of the operator's key is kept, right or wrong, so that no answer confirms one", async () => {
		for (const id of [KEY, `k=${KEY};`, KEY.replace("test", "rest")])
			expect(await idOf("/healthz", "GET", { "x-request-id": id })).toBe(id);
	});

	it("D51: 128 characters are kept; each request without one gets another", async () => {
		expect(await idOf("/healthz", "GET", { "x-request-id": "x".repeat(128) })).toBe("x".repeat(128));
		expect(await idOf("/healthz")).not.toBe(await idOf("/healthz"));
	});
});

describe("with the job", () => {
	const run = async (endpoint: string, headers: Record<string, string>): Promise<string> =>
		(await call(service.url, `/v2/${endpoint}/run`, { body: { input: {}, webhook: receiver.url }, headers })).json.id;
	const recordOf = (endpoint: string, id: string) => operator(service).seen(`/endpoints/${endpoint}/jobs/${id}`);

	it("D51, D21: the client's is in its record, in no job object, and a header of its webhook", async () => {
		const id = await run("hooked", { "x-request-id": ID });
		expect((await recordOf("hooked", id)).requestId).toBe(ID);
		expect(await operator(service).seen(`/../v2/hooked/status/${id}`)).not.toHaveProperty("requestId");
		await call(service.url, `/v2/hooked/cancel/${id}`, { method: "POST" });
		const [first] = await receiver.arrived(1);
		expect(first!.headers["x-request-id"]).toBe(ID);
		expect(JSON.parse(first!.body.toString())).not.toHaveProperty("requestId");
	});

	it("D51: none that the service made", async () => {
		const id = await run("hooked", {});
		expect(await recordOf("hooked", id)).not.toHaveProperty("requestId");
		await call(service.url, `/v2/hooked/cancel/${id}`, { method: "POST" });
		expect((await receiver.arrived(2)).at(-1)!.headers).not.toHaveProperty("x-request-id");
	});

	it("D51, D30: jobs and webhooks of a key for one endpoint confirm no guess of the operator's key", async () => {
		const { key } = await keyWith(service, ["write"], ["hooked"]);
		const before = receiver.received.length;
		for (const [index, guess] of [KEY, KEY.replace("test", "rest")].entries()) {
			const id = await run("hooked", { authorization: `Bearer ${key}`, "x-request-id": guess });
			expect((await recordOf("hooked", id)).requestId).toBe(guess);
			await call(service.url, `/v2/hooked/cancel/${id}`, { method: "POST" });
			const all = await receiver.arrived(before + index + 1);
			expect(all.at(-1)!.headers["x-request-id"]).toBe(guess);
		}
	});

	it("D51, D32: of a call of OpenAI's API too, whose answer names the job", async () => {
		const worker = await handWorker(service, "chat");
		const answer = call(service.url, "/v2/chat/openai/v1/models", { headers: { "x-request-id": ID } });
		const taken = await worker.take();
		await worker.done(taken!.id, { output: { data: [] } });
		expect((await answer).headers.get("x-request-id")).toBe(taken!.id);
		expect((await recordOf("chat", taken!.id)).requestId).toBe(ID);
	});

	it("D51: its worker gets it with passRequestId only, and none where the client sent none", async () => {
		const taken = async (endpoint: string, headers: Record<string, string>) => {
			const worker = await handWorker(service, endpoint);
			await call(service.url, `/v2/${endpoint}/run`, { body: { input: {} }, headers });
			const { id, text } = (await worker.take())!;
			await worker.done(id, { output: 1 });
			return JSON.parse(text) as object;
		};
		expect(await taken("passing", { "x-request-id": ID })).toMatchObject({ requestId: ID });
		expect(await taken("passing", {})).not.toHaveProperty("requestId");
		expect(await taken("plain", { "x-request-id": ID })).not.toHaveProperty("requestId");
	});

	it("D51, D42: of a change by an administrator it is in the audit log", async () => {
		await call(service.url, "/v1/endpoints/ep/pause", { method: "POST", headers: { "x-request-id": ID } });
		const { entries } = await operator(service).seen("/audit?limit=1");
		expect(entries[0]).toMatchObject({ action: "pauseEndpoint", requestId: ID });
	});
});
