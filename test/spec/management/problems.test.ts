/** Paths below a reserved first segment: problem details, rights, and what Sluice does not have. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UNSUPPORTED } from "../../../src/modules/management/routes/unsupported.ts";
import { call, startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
});
afterAll(() => service.end());

const get = (path: string, init: Parameters<typeof call>[2] = {}) => call(service.url, path, init);

async function keyOf(scope: string): Promise<string> {
	return (await get("/v1/keys", { body: { name: scope, scopes: [scope] } })).json.key;
}

describe("problem details", () => {
	it.each<[status: number, title: string, path: string, init: Parameters<typeof call>[2]]>([
		[401, "Unauthorized", "/v2/pods", { key: null }],
		[401, "Unauthorized", "/v2/pods", { key: "wrong-key-0123456789" }],
		[401, "Unauthorized", "/v2/serverless/ep/nothing", { key: null }],
		[404, "Not Found", "/v2/serverless/ep/nothing", {}],
		[404, "Not Found", "/v2/networkvolumes", {}],
		[404, "Not Found", "/v2/serverless/nowhere/builds", {}],
		[404, "Not Found", "/v2/serverless/ep/builds/none", {}],
		[404, "Not Found", "/v2/serverless/ep/builds/none/logs", {}],
		[405, "Method Not Allowed", "/v2/serverless/ep/builds", { method: "DELETE" }],
		[422, "Unprocessable Entity", "/v2/serverless?limit=0", {}],
		[422, "Unprocessable Entity", "/v2/templates?limit=1001", {}],
		[422, "Unprocessable Entity", "/v2/serverless?cursor=none", {}],
		[501, "Not Implemented", "/v2/billing/pods", {}],
	])("D49: %i %s of %s", async (status, title, path, init) => {
		const answer = await get(path, init);
		expect(answer.headers.get("content-type")).toBe("application/problem+json");
		expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f]{16}$/);
		expect(answer.json).toMatchObject({ title, status, detail: expect.stringMatching(/\.$/) });
		expect([answer.status, answer.json.code, answer.json.error]).toEqual([status, undefined, undefined]);
		if (status === 405) expect(answer.headers.get("allow")).toBe("GET, HEAD");
		if (status === 422) expect(answer.json.errors).toEqual([expect.stringMatching(/^\$\.(?:limit|cursor) must be /)]);
	});

	it.each(["read", "write"])("D30, D49: 403 for a key with the scope %s alone", async (scope) => {
		const { status, json } = await get("/v2/pods", { key: await keyOf(scope) });
		expect([status, json.title]).toEqual([403, "Forbidden"]);
		expect(json.detail).toContain("the scope admin");
	});

	it("D49: each answer has an id of its own; unknown query parameters are ignored", async () => {
		const [first, second] = [await get("/v2/pods?color=red"), await get("/v2/pods")];
		expect(first.json).toEqual({ pods: [], pagination: { nextCursor: null, hasNextPage: false } });
		expect(first.headers.get("x-request-id")).not.toBe(second.headers.get("x-request-id"));
		expect(first.headers.get("content-type")).toBe("application/json");
	});
});

describe("what Sluice does not have", () => {
	it.each(UNSUPPORTED)("D49: %s is 501 with what to use instead", async (path, why) => {
		for (const [at, method] of [
			[path, "POST"],
			[`${path}/one/two`, "GET"],
			[`${path}/one`, "DELETE"],
		] as const) {
			const { status, json } = await get(at, { method });
			expect([status, json.detail]).toEqual([501, why]);
		}
	});

	it("D49: it causes no entry in the log of faults", async () => {
		const failed: unknown[] = [];
		const remove = service.events.on("request.failed", (facts) => failed.push(facts));
		await get("/v2/clusters");
		remove();
		expect(failed).toEqual([]);
	});
});

describe("two APIs below /v2", () => {
	it("D49: the description of the service is at both paths", async () => {
		const [own, managed] = [await get("/openapi.json", { key: null }), await get("/v2/openapi.json", { key: null })];
		expect([managed.status, managed.json]).toEqual([200, own.json]);
		expect(Object.keys(own.json.paths)).toContain("/v2/serverless/{endpoint}/builds");
	});

	it("D49: job paths of other endpoints keep their own form of errors", async () => {
		const { headers, json } = await get("/v2/nowhere/health");
		expect(headers.get("content-type")).toBe("application/json");
		expect(json.code).toBe("endpoint_not_found");
	});

	it("D35, D49: a reserved id is refused for new endpoints, with one to use", async () => {
		const { status, json } = await get("/v1/endpoints", { body: { id: "templates" } });
		expect([status, json.details]).toEqual([
			400,
			[
				{
					field: "id",
					message:
						"must not be templates: /v2/templates is a path of the management API. " +
						"Use another id, such as templates-1.",
				},
			],
		]);
		expect((await get("/v1/endpoints", { body: { id: "templates-1" } })).status).toBe(201);
	});
});
