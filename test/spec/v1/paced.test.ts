/** Management calls of one key take a bounded share of the service's time (D41). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTES } from "../../../src/modules/tables.ts";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith } from "../hand-worker.ts";

const clock = manualClock();
let service: TestService;
let keys: [string, string];
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: { limits: "off" } },
		clock,
	});
	const made = async (name: string): Promise<string> =>
		(await call(service.url, "/v1/keys", { body: { name, scopes: ["write"] } })).json.key as string;
	keys = [await made("one"), await made("other")];
});
afterAll(() => endWith(service, clock));

/** What 300 ms are enough for while no time passes. */
const FIRST_CALLS = 1201;

it("D41: a key that has used its time waits for the next; another key, jobs and probes do not", async () => {
	const [key, other] = keys;
	for (let count = 0; count < FIRST_CALLS; count += 1)
		expect((await call(service.url, "/v1/endpoints", { key })).status).toBe(200);
	const waits = [
		["/v1/endpoints/ep/jobs?status=FAILED", undefined],
		["/metrics", undefined],
		["/v2/ep/requests", undefined],
		["/v1/endpoints/ep/jobs/cancel", {}],
	] as const;
	const begun = clock.now();
	const headers = { authorization: `Bearer ${key}` };
	const waiting = waits.map(([path, body]) =>
		fetch(service.url + path, {
			headers,
			...(body && { method: "POST", body: JSON.stringify(body) }),
		}).then(({ status }) => ({ status, at: clock.now() })),
	);
	expect((await call(service.url, "/v1/endpoints", { key: other })).status).toBe(200);
	const job = await call(service.url, "/v2/ep/run", { key, body: { input: {} } });
	expect((await call(service.url, `/v2/ep/status/${job.json.id}`, { key })).status).toBe(200);
	expect((await call(service.url, "/v2/ep/health", { key })).status).toBe(200);
	for (const probe of ["/healthz", "/readyz", "/openapi.json"])
		expect((await call(service.url, probe, { key: null })).status).toBe(200);
	let answered = false;
	const all = Promise.all(waiting).finally(() => (answered = true));
	await advanceUntil(clock, () => answered, 1);
	for (const { status, at } of await all) {
		expect(status).toBe(200);
		expect(at).toBeGreaterThan(begun);
	}
});

it("D41: every operation of a key that is not one of clients on single jobs is paced", () => {
	const unpaced = ROUTES.filter(({ access, paced }) => !paced && access !== "worker");
	expect(new Set(unpaced.map(({ path }) => path.replace(/^\/sdk/, "")))).toEqual(
		new Set([
			"/v2/:endpoint/run",
			"/v2/:endpoint/runsync",
			"/v2/:endpoint/status/:job",
			"/v2/:endpoint/status-sync/:job",
			"/v2/:endpoint/stream/:job",
			"/v2/:endpoint/cancel/:job",
			"/v2/:endpoint/retry/:job",
			"/v2/:endpoint/openai/*",
			"/v2/:endpoint/openai/v1/responses/:response",
			"/v2/:endpoint/openai/v1/responses/:response/cancel",
			"/v2/:endpoint/openai/v1/responses/:response/input_items",
			"/v2/:endpoint/openai/v1/videos",
			"/v2/:endpoint/openai/v1/videos/:video",
			"/v2/:endpoint/openai/v1/videos/:video/content",
			"/v2/:endpoint/openai/v1/videos/:video/remix",
			"/v2/:endpoint/health",
			"/v2/openapi.json",
			"/console/session",
			"/console/*",
			"/console/",
			"/console",
			"/",
			"/s3/",
			"/s3/*",
			"/healthz",
			"/readyz",
			"/openapi.json",
			"/docs",
			"/docs/",
			"/docs/*",
			"/docs/api",
			"/docs/api/",
			"/docs/api/*",
		]),
	);
});
