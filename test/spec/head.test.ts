/** HEAD of every GET route but the worker's (D1): its headers, and nothing consumed. */
import { type IncomingHttpHeaders, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/modules/tables.ts";
import { call, KEY, startService, type TestService } from "../support/service.ts";
import { handWorker, type HandWorker } from "./hand-worker.ts";

let service: TestService;
let worker: HandWorker;
/** It has one chunk and does not end. */
let job: string;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
	worker = await handWorker(service, "ep");
	job = (await call(service.url, "/v2/ep/run", { body: { input: {} } })).json.id;
	await worker.takeThis(job);
	await worker.chunk(job, { output: "first" });
});
afterAll(() => service.end());

interface Answer {
	status: number;
	headers: IncomingHttpHeaders;
	/** Bytes behind the headers. */
	body: number;
}

/** Resolves at the end of the answer, or of its headers for one without an end. */
function ask(method: string, path: string, headers: Record<string, string> = {}, url = service.url): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const sent = request(`${url}${path}`, { method, headers: { authorization: KEY, ...headers } }, (answer) => {
			let body = 0;
			answer.on("data", (piece: Buffer) => (body += piece.length));
			const status = answer.statusCode ?? 0;
			answer.on("end", () => resolve({ status, headers: answer.headers, body }));
			if (method === "GET" && answer.headers["content-length"] === undefined) {
				resolve({ status, headers: answer.headers, body });
				answer.destroy();
			}
		});
		sent.on("error", reject).end();
	});
}

/** Without what differs from request to request. */
function lasting({ status, headers }: Answer): unknown {
	const { date: _, "x-request-id": __, connection: ___, "keep-alive": ____, ...rest } = headers;
	for (const name of Object.keys(rest)) if (/^ratelimit-|^x-amz-request-id$/.test(name)) delete rest[name];
	return { status, ...rest };
}

const filled = (path: string): string =>
	path
		.replace(
			/:(\w+)/g,
			(_, name: string) =>
				({ endpoint: "ep", job, response: `resp_${job}`, video: `video_${job}`, worker: worker.id })[name] ?? "none",
		)
		.replace("*", "v1/models");

const GETS = ROUTES.filter(({ methods }) => methods.includes("GET")).map((route) => [route.path, route] as const);
/** Their GET waits, delivers, or has another size at each call. */
const OTHERWISE: readonly string[] = ["statusSync", "stream", "openai", "sdkOpenai", "metrics", "serviceLog"];

describe("every GET route", () => {
	it.each(GETS)("D1: %s answers HEAD as GET, without a body", async (path, { definition, access }) => {
		const head = await ask("HEAD", filled(path));
		expect(head.body).toBe(0);
		if (access === "worker") {
			expect(head.status).toBe(405);
			expect(head.headers.allow?.split(", ")).not.toContain("HEAD");
			return;
		}
		expect(head.status).not.toBe(405);
		if (OTHERWISE.includes(definition)) return;
		const get = await ask("GET", filled(path));
		const [ofHead, ofGet] = [lasting(head), lasting(get)] as Record<string, unknown>[];
		// Ages and times of an answer change its size.
		if (head.headers["content-type"] === "application/json")
			for (const each of [ofHead, ofGet]) delete each!["content-length"];
		for (const each of [ofHead, ofGet]) delete each!["transfer-encoding"];
		expect(ofHead).toEqual(ofGet);
	});

	it("D1: Allow names it", async () => {
		for (const [path, allow] of [
			["/healthz", "GET, HEAD"],
			["/v2/ep/health", "GET, HEAD"],
			["/v1/endpoints", "GET, HEAD, POST"],
		] as const)
			expect((await ask("PATCH", path)).headers.allow).toBe(allow);
	});

	it("D1: a probe of the load balancer sees what GET says, with its length", async () => {
		for (const path of ["/healthz", "/readyz", "/v2/ep/health"]) {
			const { status, headers } = await ask("HEAD", path);
			expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
			expect(Number(headers["content-length"])).toBeGreaterThan(1);
		}
		expect((await ask("HEAD", "/v2/ep/health", { authorization: "wrong" })).status).toBe(401);
		expect((await ask("HEAD", "/v2/none/health")).status).toBe(404);
	});
});

describe("nothing is consumed", () => {
	it("D7: of a stream nothing is delivered", async () => {
		const head = await ask("HEAD", `/v2/ep/stream/${job}`);
		expect([head.status, head.headers["sluice-job-status"], head.headers["content-type"]]).toEqual([
			200,
			"IN_PROGRESS",
			"application/json",
		]);
		const events = await ask("HEAD", `/v2/ep/stream/${job}`, { accept: "text/event-stream" });
		expect([events.status, events.headers["content-type"]]).toEqual([200, "text/event-stream"]);
		expect((await call(service.url, `/v2/ep/stream/${job}`)).json).toMatchObject([{ output: "first" }]);
		expect((await ask("HEAD", "/v2/ep/stream/none")).status).toBe(404);
	});

	it("D8: /status-sync does not wait", async () => {
		const { status, headers } = await ask("HEAD", `/v2/ep/status-sync/${job}?wait=300000`);
		expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
	});

	it("D9: ?ttl= of /status shortens no retention", async () => {
		const { json } = await call(service.url, "/v2/ep/run", { body: { input: {} } });
		const worker2 = await handWorker(service, "ep");
		await worker2.takeThis(json.id);
		await worker2.done(json.id, { output: 1 });
		const expires = async (): Promise<string> =>
			(await call(service.url, `/v1/endpoints/ep/jobs/${json.id}`)).json.expiresAt;
		const before = await expires();
		expect((await ask("HEAD", `/v2/ep/status/${json.id}?ttl=10000`)).status).toBe(200);
		expect(await expires()).toBe(before);
	});

	it("D32: /openai/* makes no job", async () => {
		const jobs = async (): Promise<number> => (await call(service.url, "/v1/endpoints/ep/jobs")).json.jobs.length;
		const before = await jobs();
		expect((await ask("HEAD", "/v2/ep/openai/v1/models")).status).toBe(200);
		expect((await ask("HEAD", "/v2/none/openai/v1/models")).status).toBe(404);
		expect(await jobs()).toBe(before);
	});

	it("D42: no read of an administrator counts as a change", async () => {
		const { json: before } = await call(service.url, "/v1/audit");
		for (const path of ["/v1/keys", "/v1/sessions", "/v2/templates", "/v1/audit"]) await ask("HEAD", path);
		expect((await call(service.url, "/v1/audit")).json).toEqual(before);
	});
});
