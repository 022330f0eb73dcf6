/**
 * Texts of callers with control characters: PostgreSQL cannot store U+0000, and a transaction of many
 * operations would fail for it (D4).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker, statusOf, submitted } from "../hand-worker.ts";
import { operator, type Operator } from "../operator.ts";

const CONTROLS = ["\0", "\u0007", "\n", "\u001b[2J", "\u007f", "\u0085"];

let service: TestService;
let admin: Operator;
beforeAll(async () => {
	service = await startService({ endpoints: { a: { limits: "off" } } });
	admin = operator(service);
});
afterAll(() => service?.end());

describe("control characters", () => {
	it.each(CONTROLS)("D4: %j in a webhook is a bad field, for /run and /runsync", async (control) => {
		for (const operation of ["run", "runsync"]) {
			const answer = await call(service.url, `/v2/a/${operation}`, {
				body: { input: {}, webhook: `http://x/${control}` },
			});
			expectError(answer, 400, "bad_request", ["webhook"]);
		}
	});

	it.each(CONTROLS)("D4: %j in a name or a filter is a bad field", async (control) => {
		const text = `a${control}b`;
		const encoded = encodeURIComponent(text);
		expectError(await admin.post("/keys", { name: text, scopes: ["read"] }), 400, "bad_request", ["name"]);
		expectError(await admin.post("/endpoints", { id: "n", name: text }), 400, "bad_request", ["name"]);
		expectError(await admin.post("/endpoints", { id: text }), 400, "bad_request", ["id"]);
		expectError(await admin.post("/endpoints/a/jobs/cancel", { filter: { worker: text } }), 400, "bad_request", [
			"filter.worker",
		]);
		for (const query of ["id", "worker", "cursor"])
			expectError(await admin.get(`/endpoints/a/jobs?${query}=${encoded}`), 400, "bad_query");
	});

	it.each(CONTROLS)("D4: %j in a filter of webhooks is a bad field", async (control) => {
		expectError(await admin.get(`/webhooks?job=${encodeURIComponent(`a${control}b`)}`), 400, "bad_query");
	});

	it.each(CONTROLS)("D4: an id with %j in a path is unknown, without a fault", async (control) => {
		const encoded = encodeURIComponent(`a${control}b`);
		const of = async (path: string, method = "GET"): Promise<number> =>
			(await call(service.url, path, { method })).status;
		for (const path of [`/v2/a/status/${encoded}`, `/v1/endpoints/a/jobs/${encoded}`]) expect(await of(path)).toBe(404);
		expect(await of(`/v2/a/cancel/${encoded}`, "POST")).toBe(404);
		expect(await of(`/v1/webhooks/${encoded}/redeliver`, "POST")).toBe(404);
		expect(await of(`/v1/keys/${encoded}`, "DELETE")).toBe(404);
		expect(await of(`/v2/${encoded}/health`)).toBe(404);
	});

	it("D4: what a worker reports is never refused: its error arrives as sent, its sentence is cleaned", async () => {
		const worker = await handWorker(service, "a");
		const id = await submitted(service, "a");
		await worker.takeThis(id);
		const error = `first\nsecond\0\u001b[31m`;
		await worker.done(id, { error });
		expect(await statusOf(service, "a", id)).toMatchObject({ status: "FAILED", error });
		const unhealthy = service.next("worker.unhealthy");
		const reason = encodeURIComponent("no\0 \u001b]0;x\u0007memory");
		const answer = await call(service.url, `/worker/a/ping/${worker.id}?status=unhealthy&check=gpu&reason=${reason}`, {
			headers: { authorization: worker.token },
		});
		expect(answer.status).toBe(200);
		expect((await unhealthy).reason).toContain("gpu: no\ufffd \ufffd]0;x\ufffdmemory");
	});
});
