/** Section 5: who may call. */
import { MODULES } from "../../../src/modules/index.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { startApp } from "../../../src/kernel/compose.ts";
import { loadConfig } from "../../../src/kernel/config/config.ts";
import { eventBus } from "../../../src/kernel/events.ts";
import { storeIn, writtenIn } from "../../support/service-store.ts";
import { call, folder, KEY, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker, submitted } from "../hand-worker.ts";
import { expectOpenAIError } from "./openai/answers.ts";

let service: TestService;
let job: string;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {} },
		// More wrong keys than one address may send in a minute (D41).
		settings: { budgets: { failedKeysPerAddress: 1000 } },
	});
	job = await submitted(service, "ep");
});
afterAll(() => service.end());

const OPERATIONS: readonly (readonly [string, string])[] = ["/v2", "/sdk/v2"].flatMap((prefix) => [
	["POST", `${prefix}/ep/run`],
	["POST", `${prefix}/ep/runsync`],
	["GET", `${prefix}/ep/status/JOB`],
	["POST", `${prefix}/ep/status/JOB`],
	["GET", `${prefix}/ep/status-sync/JOB`],
	["GET", `${prefix}/ep/stream/JOB`],
	["POST", `${prefix}/ep/cancel/JOB`],
	["GET", `${prefix}/ep/health`],
	["POST", `${prefix}/ep/openai/v1/chat/completions`],
	["GET", `${prefix}/ep/openai/v1/models`],
]);
const WRONG: readonly (readonly [string, string | null])[] = [
	["no key", null],
	["a wrong key", "Bearer wrong-key-0123456789"],
	["a key that begins like the right one", KEY.slice(0, -1)],
	["a key that is longer", `${KEY}x`],
	["the key in another case", KEY.toUpperCase()],
	["the scheme word alone", "Bearer"],
	["another scheme", `Basic ${KEY}`],
	["two keys", `Bearer ${KEY} ${KEY}`],
	["an empty header", ""],
];

async function as(header: string | null, method: string, path: string): ReturnType<typeof call> {
	return await call(service.url, path.replace("JOB", job), {
		method,
		key: null,
		headers: header === null ? {} : { authorization: header },
		...(method === "POST" ? { body: { input: {} } } : {}),
	});
}

/** An error in the form that its path has (D2, D32). */
function expectRefusal(path: string, answer: Awaited<ReturnType<typeof call>>, status: number, code: string): void {
	if (path.includes("/openai/")) expectOpenAIError(answer, status, code);
	else expectError(answer, status, code);
}

describe.each(OPERATIONS)("%s %s", (method, path) => {
	it.each(WRONG)("spec 5.3: %s is 401, and nothing of the header is shown", async (_, header) => {
		const answer = await as(header, method, path);
		expectRefusal(path, answer, 401, "unauthorized");
		expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
		for (const secret of [KEY, "wrong-key", KEY.toUpperCase()]) expect(answer.text).not.toContain(secret);
	});
});

it.each([KEY, `Bearer ${KEY}`, `bearer ${KEY}`, `BEARER ${KEY}`, `bEaReR   ${KEY}`, `${KEY} `])(
	"spec 5.1, D30: the header %j is accepted",
	async (header) => {
		expect((await as(header, "GET", "/v2/ep/health")).status).toBe(200);
	},
);

describe("the order of checks", () => {
	it("spec 5.4, D3: an unknown endpoint is 404 with a valid key, else 401", async () => {
		for (const [method, path] of OPERATIONS) {
			const unknown = path.replace("/ep/", "/nowhere/");
			expectRefusal(path, await as(`Bearer ${KEY}`, method, unknown), 404, "endpoint_not_found");
			expectRefusal(path, await as(null, method, unknown), 401, "unauthorized");
			expectRefusal(path, await as("wrong", method, unknown), 401, "unauthorized");
		}
	});

	it("D3: without a key no caller learns which paths, endpoints or jobs exist", async () => {
		const texts = await Promise.all(
			[
				"/v2/ep/status/JOB",
				"/v2/ep/status/none",
				"/v2/nowhere/status/none",
				"/v2/ep/nothing",
				"/v2/",
				"/sdk/v2/x",
				"/v1/nothing",
			].map(async (path) => (await as(null, "GET", path)).text),
		);
		expect(new Set(texts).size).toBe(1);
	});

	it("D3: the key is checked before the body is read", async () => {
		const answer = await call(service.url, "/v2/ep/run", {
			key: "wrong-key-0123456789",
			text: "not JSON",
		});
		expectError(answer, 401, "unauthorized");
	});

	it("a key in the query is none", async () => {
		const answer = await call(service.url, `/v2/ep/health?key=${KEY}&authorization=${KEY}`, {
			key: null,
		});
		expectError(answer, 401, "unauthorized");
		expect(answer.text).not.toContain(KEY);
	});

	it("D40: the health of the process needs no key", async () => {
		for (const path of ["/healthz", "/readyz"]) expect((await call(service.url, path, { key: null })).status).toBe(200);
	});
});

describe("workers and clients", () => {
	it("D26: a worker's token is no API key, and an API key no token", async () => {
		const worker = await handWorker(service, "ep");
		expectError(await as(worker.token, "GET", "/v2/ep/health"), 401, "unauthorized");
		expectError(await as(`Bearer ${worker.token}`, "POST", "/v2/ep/run"), 401, "unauthorized");
		const answer = await as(KEY, "POST", `/worker/ep/job-done/${worker.id}/JOB`);
		expectError(answer, 401, "worker_unauthorized");
		expect(answer.text).not.toContain(KEY);
	});
});

describe("the first key", () => {
	it("D30: with no key at all the first start makes one, prints it once and keeps only its hash", async () => {
		const place = folder();
		const store = await storeIn(place.path);
		const loaded = loadConfig({
			modules: MODULES,
			flags: { port: "0", "drain-timeout": "0", ...store.flags },
			env: store.env,
			cwd: place.path,
			readFile: () => undefined,
		});
		if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
		const start = (): ReturnType<typeof startApp> =>
			startApp(loaded.config, { modules: MODULES, clock: systemClock, events: eventBus(), env: {} });
		try {
			const first = await start();
			const key = first.firstKey!;
			expect(key).toMatch(/^sluice_[0-9a-f]{48}$/);
			expect((await call(first.url, "/v1/endpoints", { key })).status).toBe(200);
			expectError(await call(first.url, "/v1/endpoints", { key: KEY }), 401, "unauthorized");
			await first.stop();
			for (const bytes of await writtenIn(place.path)) expect(bytes.includes(key)).toBe(false);
			const second = await start();
			expect(second.firstKey).toBeUndefined();
			expect((await call(second.url, "/v1/endpoints", { key })).status).toBe(200);
			await second.stop();
		} finally {
			place.remove();
		}
	});
});
