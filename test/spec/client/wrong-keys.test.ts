/** Wrong keys, worker tokens and sign-ins beyond their budget (D41, D30, D26, D31). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker } from "../hand-worker.ts";
import { keyWith, operator } from "../operator.ts";

const LIMIT = 5;
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {} },
		settings: { budgets: { failedKeysPerAddress: LIMIT } },
	});
});
afterAll(() => service?.end());

const wrong = (count: number): string => `wrong-key-${count}`;

it("D41, D30: guesses are 429 beyond the budget of their address, on every way in; valid keys pass", async () => {
	const worker = await handWorker(service, "ep");
	for (let count = 0; count < LIMIT; count += 1)
		expectError(await call(service.url, "/v2/ep/health", { key: wrong(count) }), 401, "unauthorized");
	for (const refused of [
		await call(service.url, "/v2/ep/health", { key: wrong(LIMIT) }),
		await call(service.url, `/worker/ep/ping/${worker.id}`, { key: wrong(LIMIT) }),
		await call(service.url, "/console/session", { key: null, body: { key: wrong(LIMIT) } }),
		await call(service.url, "/console/session", { key: null, body: { link: wrong(LIMIT) } }),
	]) {
		expectError(refused, 429, "too_many_failures");
		expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
		expect(refused.text).not.toContain("wrong-key");
	}
	// A client behind the same address, with a key that this server has not seen yet.
	const made = await keyWith(service, ["read"]);
	expect((await call(service.url, "/v2/ep/health", { key: made.key })).status).toBe(200);
	await worker.ping();
	const { RUNPOD_POD_ID: id, RUNPOD_AI_API_KEY: token } = (
		await operator(service).post(`/endpoints/ep/worker-env?url=${encodeURIComponent(service.url)}`)
	).json.env;
	service.engine.access.tokens.cached.forget();
	expect((await call(service.url, `/worker/ep/ping/${id}`, { key: token })).status).toBe(200);
	expect((await call(service.url, "/console/session", { key: null, body: { key: KEY } })).status).toBe(200);
	await operator(service).remove(`/keys/${made.id}`);
	expect((await call(service.url, "/v2/ep/health", { key: made.key })).status).toBe(429);
	expect((await call(service.url, "/v2/ep/health", { key: null })).status).toBe(401);
	const { text } = await fetch(`${service.url}/metrics`, {
		headers: { authorization: `Bearer ${KEY}` },
	}).then(async (answer) => ({ text: await answer.text() }));
	expect(text).toMatch(/failedKeysPerAddress.*"\} [1-9]/);
});
