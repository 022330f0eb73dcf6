/** Headers of every answer in JSON: results are neither kept by caches nor guessed to be pages. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { submitted } from "../hand-worker.ts";

let service: TestService;
let job: string;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
	job = await submitted(service, "ep");
});
afterAll(() => service.end());

it.each<[string, (job: string) => string, number]>([
	["a job", (id) => `/v2/ep/status/${id}`, 200],
	["an error", () => "/v2/ep/status/none", 404],
	["a stream", (id) => `/v2/ep/stream/${id}?offset=0&wait=1000`, 200],
	["a list", () => "/v1/endpoints/ep/jobs", 200],
	["the process", () => "/healthz", 200],
])("D2: %s is not stored by caches and keeps its type", async (_, path, status) => {
	const answer = await call(service.url, path(job));
	expect(answer.status).toBe(status);
	expect(answer.headers.get("cache-control")).toBe("no-store");
	expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
});
