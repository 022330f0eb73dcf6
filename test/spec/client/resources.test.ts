/** Sections 2.1, 2.2 and 9: what names an endpoint, a job and a version. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith, expectError, handWorker, statusOf, submitted } from "../hand-worker.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { one: {}, two: {}, "A-z_09": {} }, clock });
});
afterAll(() => endWith(service, clock));

describe("endpoints", () => {
	it("D2: the 404 of a misspelt id has the one that is meant, of those that the key may use", async () => {
		const sentence = (id: string, meant: string): string =>
			`There is no endpoint '${id}'.${meant} GET /v1/endpoints lists those that exist.`;
		for (const path of ["/v2/A-z_9/health", "/v1/endpoints/A-z_9"])
			expect((await call(service.url, path)).json.error).toBe(sentence("A-z_9", " Did you mean 'A-z_09'?"));
		expect((await call(service.url, "/v2/elsewhere/health")).json.error).toBe(sentence("elsewhere", ""));
		const { json } = await call(service.url, "/v1/keys", {
			body: { name: "a", scopes: ["read"], endpoints: ["A-z_9"] },
		});
		expect((await call(service.url, "/v2/A-z_9/health", { key: json.key })).json.error).toBe(sentence("A-z_9", ""));
	});

	it("spec 2.1: the id in the path says whose job it is", async () => {
		const id = await submitted(service, "one");
		expect((await statusOf(service, "one", id)).id).toBe(id);
		expectError(await call(service.url, `/v2/two/status/${id}`), 404, "job_not_found");
		expect((await call(service.url, "/v2/one/health")).json.jobs.inQueue).toBe(1);
		expect((await call(service.url, "/v2/two/health")).json.jobs.inQueue).toBe(0);
	});

	it("spec 2.1: an id may hold letters of both cases, digits, _ and -, and case counts", async () => {
		expect((await call(service.url, "/v2/A-z_09/health")).status).toBe(200);
		expectError(await call(service.url, "/v2/a-z_09/health"), 404, "endpoint_not_found");
	});
});

describe("the job", () => {
	it("spec 2.2: has id, status, delayTime and executionTime in ms, and output once it has completed", async () => {
		const worker = await handWorker(service, "two");
		const id = await submitted(service, "two");
		expect(await statusOf(service, "two", id)).toEqual({
			id,
			status: "IN_QUEUE",
			delayTime: 0,
			executionTime: 0,
		});
		await clock.advance(1500);
		await worker.takeThis(id);
		await clock.advance(700);
		expect(await statusOf(service, "two", id)).toEqual({
			id,
			status: "IN_PROGRESS",
			delayTime: 1500,
			executionTime: 700,
			workerId: worker.id,
		});
		await worker.done(id, { output: [{ text: "a" }] });
		expect(await statusOf(service, "two", id)).toEqual({
			id,
			status: "COMPLETED",
			delayTime: 1500,
			executionTime: 700,
			output: [{ text: "a" }],
			workerId: worker.id,
		});
	});
});

describe("versions", () => {
	it("spec 9: the version stands before the endpoint; others are nothing", async () => {
		expect((await call(service.url, "/v2/one/health")).status).toBe(200);
		for (const path of ["/v3/one/health", "/one/health", "/v1/one/health", "/V2/one/health", "/one/v2/health"])
			expectError(await call(service.url, path), 404, "path_not_found");
	});
});
