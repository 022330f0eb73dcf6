/** What the console's cookie allows (D31, spec 5.2). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../../src/modules/tables.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { browser, type Browser } from "./browser.ts";
import { endWith, expectError, handWorker, statusOf, submitted } from "../hand-worker.ts";
import { keyWith, operator } from "../operator.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: { limits: "off" }, other: {} },
		settings: {
			publicUrl: "https://jobs.example/sluice/",
			budgets: { failedKeysPerAddress: 100_000 },
		},
		clock,
	});
});
afterAll(() => endWith(service, clock));

async function signedIn(key?: string): Promise<Browser> {
	const page = browser(service);
	// Of more sessions than are kept, the oldest ends.
	await clock.advance(1);
	await page.signIn(key);
	return page;
}

describe("what the cookie allows", () => {
	const HELD = ROUTES.filter(({ access }) => access === "read" || access === "write" || access === "admin");
	const UNSAFE = HELD.flatMap(({ path, methods, access }) =>
		methods.filter((method) => method !== "GET").map((method) => [method, path, access] as const),
	);
	const real = (path: string): string =>
		path.replace(":endpoint", "ep").replace(/:\w+/g, "none").replace("*", "v1/none");
	const FOREIGN: readonly (readonly [string, Record<string, string | undefined>])[] = [
		["no Origin", { Origin: undefined }],
		["no Origin and no Sec-Fetch-Site", { Origin: undefined, "Sec-Fetch-Site": undefined }],
		["the Origin of another site", { Origin: "https://evil.example", "Sec-Fetch-Site": undefined }],
		["the Origin null", { Origin: "null", "Sec-Fetch-Site": undefined }],
		["the Origin of another port", { Origin: "http://127.0.0.1:1", "Sec-Fetch-Site": undefined }],
		["another site, as the browser says", { "Sec-Fetch-Site": "cross-site" }],
		["another page of this host, as the browser says", { "Sec-Fetch-Site": "same-site" }],
	];

	it("spec 5.2, D31: a page of the console needs no key on the paths of clients and operators", async () => {
		const page = await signedIn();
		const { id } = JSON.parse((await page.send("/v2/ep/run", { method: "POST", body: { input: {} } })).text);
		expect(JSON.parse((await page.send(`/sdk/v2/ep/status/${id}`)).text)).toMatchObject({
			id,
			status: "IN_QUEUE",
		});
		expect(JSON.parse((await page.send(`/v1/endpoints/ep/jobs/${id}`)).text)).toMatchObject({ id });
		const events = await page.send(`/v2/ep/stream/${id}`, {
			headers: { Accept: "text/event-stream" },
			streams: true,
		});
		expect([events.status, events.headers["content-type"]]).toEqual([200, "text/event-stream"]);
		expect((await page.send("/v1/endpoints/other/pause", { method: "POST" })).status).toBe(200);
		expect((await page.send("/v1/endpoints/other", { method: "PATCH", body: { name: "Named" } })).status).toBe(200);
		expect((await page.send(`/v2/ep/cancel/${id}`, { method: "POST" })).status).toBe(200);
		expectError(await page.send("/v2/nowhere/health"), 404, "endpoint_not_found");
		expectError(await page.send("/v1/nothing"), 404, "path_not_found");
	});

	it("D31: the cookie alone opens nothing: a service on another port of the host gets it", async () => {
		const page = await signedIn();
		const other = await signedIn();
		for (const token of [undefined, "", "0".repeat(48), other.pageToken]) {
			const thief = browser(service);
			[thief.cookie, thief.pageToken] = [page.cookie, token];
			for (const { path, methods } of HELD)
				for (const method of methods) {
					const answer = await thief.send(real(path), { method, text: "[]" });
					expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(401);
				}
		}
		expect((await page.send("/v1/keys")).status).toBe(200);
	});

	it.each(UNSAFE)("D31: %s %s is 401 from another origin, and taken from its own", async (method, path) => {
		const page = await signedIn();
		for (const [what, headers] of FOREIGN) {
			const answer = await page.send(real(path), { method, text: "[]", headers });
			expect(answer.status, `${what}: ${answer.text}`).toBe(401);
		}
		expect((await page.send(real(path), { method, text: "[]" })).status).not.toBe(401);
		expect(
			(
				await page.send(real(path), {
					method,
					text: "[]",
					headers: { "Sec-Fetch-Site": undefined },
				})
			).status,
		).not.toBe(401);
	});

	it("D31: there are such rows of every prefix", () => {
		expect(UNSAFE.length).toBeGreaterThan(25);
		expect(new Set(UNSAFE.map(([, path]) => path.split("/")[1]))).toEqual(new Set(["v2", "sdk", "v1"]));
	});

	it.each(HELD.filter(({ methods }) => methods.includes("GET")).map(({ path }) => path))(
		"D31: GET %s is 401 from another origin",
		async (path) => {
			const page = await signedIn();
			for (const [what, headers] of FOREIGN.slice(2))
				expect((await page.send(real(path), { headers })).status, what).toBe(401);
		},
	);

	it("D31: a GET that changes something is 401 unless it shows where it comes from", async () => {
		const page = await signedIn();
		const worker = await handWorker(service, "ep");
		const id = await submitted(service, "ep");
		await worker.takeThis(id);
		await worker.chunk(id, { output: "a" });
		await worker.done(id, { output: 1 });
		const before = (await operator(service).seen("/endpoints/ep/jobs?limit=100")).jobs.length;
		for (const path of [
			`/v2/ep/stream/${id}`,
			`/v2/ep/status/${id}?ttl=0`,
			`/v2/ep/status/${id}?x=1&ttl=0`,
			"/v2/ep/openai/v1/models",
		]) {
			for (const site of [undefined, "none"])
				expect((await page.send(path, { headers: { "Sec-Fetch-Site": site } })).status, path).toBe(401);
		}
		expect((await operator(service).seen("/endpoints/ep/jobs?limit=100")).jobs).toHaveLength(before);
		expect((await operator(service).seen(`/endpoints/ep/jobs/${id}`)).chunks).toEqual({
			written: 1,
			delivered: 0,
		});
		expect(await statusOf(service, "ep", id)).toMatchObject({ status: "COMPLETED" });
		// What changes nothing is read by a browser that does not send it, as over plain HTTP in a local
		// network.
		for (const path of [`/v2/ep/stream/${id}?offset=0`, `/v2/ep/status/${id}`])
			expect((await page.send(path, { headers: { "Sec-Fetch-Site": undefined } })).status, path).toBe(200);
		expect((await page.send(`/v2/ep/stream/${id}`)).text).toBe('[{"output":"a","metrics":{}}]');
		expect((await page.send(`/v2/ep/status/${id}?ttl=0`)).status).toBe(200);
		expectError(await call(service.url, `/v2/ep/status/${id}`), 404, "job_not_found");
	});

	it("D30: a key in the header counts before the cookie, whatever it is", async () => {
		const page = await signedIn();
		expectError(await page.send("/v1/keys", { headers: { Authorization: "Bearer wrong-key" } }), 401, "unauthorized");
		const { key } = await keyWith(service, ["read"]);
		expectError(await page.send("/v1/keys", { headers: { Authorization: `Bearer ${key}` } }), 401, "unauthorized");
		// A key needs no Origin; the password of a proxy is no key.
		expect(
			(
				await page.send("/v2/ep/run", {
					method: "POST",
					body: { input: {} },
					headers: {
						Origin: "https://app.example",
						"Sec-Fetch-Site": "cross-site",
						Authorization: KEY,
					},
				})
			).status,
		).toBe(200);
		expect((await page.send("/v1/keys", { headers: { Authorization: "Basic dXNlcjpwYXNz cg==" } })).status).toBe(200);
	});

	it("D30, D31: a session may what its key may", async () => {
		const read = await signedIn((await keyWith(service, ["read"])).key);
		expect((await read.send("/v1/endpoints")).status).toBe(200);
		expect(
			expectError(await read.send("/v2/ep/run", { method: "POST", body: { input: {} } }), 401, "unauthorized").error,
		).toContain("the scope write");
		expectError(
			await read.send("/v1/keys", { method: "POST", body: { name: "a", scopes: ["admin"] } }),
			401,
			"unauthorized",
		);
		const here = await signedIn((await keyWith(service, ["write"], ["ep"])).key);
		expect(JSON.parse((await here.send("/v1/endpoints")).text).endpoints.map(({ id }: { id: string }) => id)).toEqual([
			"ep",
		]);
		expect((await here.send("/v2/ep/health")).status).toBe(200);
		expectError(await here.send("/v2/other/health"), 401, "unauthorized");
	});

	it("D31: no worker's path takes it", async () => {
		const page = await signedIn();
		const { id } = await handWorker(service, "ep");
		expectError(await page.send(`/worker/ep/ping/${id}`), 401, "worker_unauthorized");
	});

	it("D38: an answer to another origin allows no credentials and sets no cookie", async () => {
		const page = await signedIn();
		for (const path of ["/v2/ep/health", "/v1/endpoints", "/console/session"]) {
			const { headers } = await page.send(path, {
				headers: { Origin: "https://app.example", "Sec-Fetch-Site": "cross-site" },
			});
			expect(headers["access-control-allow-credentials"]).toBeUndefined();
			expect(headers["set-cookie"]).toBeUndefined();
		}
	});
});
