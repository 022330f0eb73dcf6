/** Signing in to the console, and what its cookie allows (D31, spec 5.2). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SESSION_MS } from "../../../src/engine/access/sessions.ts";
import { ROUTES } from "../../../src/http/routes.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { KEY, call, folder, startService } from "../../support/service.ts";
import type { TestService } from "../../support/service.ts";
import { browser, cookieOf } from "./browser.ts";
import type { Browser } from "./browser.ts";
import { endWith, expectError, handWorker, statusOf, submitted } from "../hand-worker.ts";
import { held } from "../openapi-calls.ts";
import { keyWith, operator } from "../operator.ts";
import type { RawAnswer } from "../raw-http.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: { limits: "off" }, other: {} },
		settings: { publicUrl: "https://jobs.example/sluice/" },
		clock,
	});
});
afterAll(() => endWith(service, clock));

async function signedIn(key?: string): Promise<Browser> {
	const page = browser(service);
	await page.signIn(key);
	return page;
}

/** A refusal that is paced. */
function refused(answer: Promise<RawAnswer>): Promise<RawAnswer> {
	return held(clock, answer, 100);
}

describe("signing in", () => {
	it("D31: a key gives a cookie that no script reads and no other site sends, and who it is", async () => {
		const { key } = await keyWith(service, ["write"], ["ep"]);
		const page = browser(service);
		const answer = await page.signIn(` ${key}\n`);
		expect(JSON.parse(answer.text)).toEqual({
			principal: { name: "write", scopes: ["write"], endpoints: ["ep"] },
		});
		const { value, attributes } = cookieOf(answer)!;
		expect(attributes).toEqual({
			"max-age": String(SESSION_MS / 1000),
			path: "/",
			httponly: "",
			samesite: "Strict",
		});
		expect(answer.headers["cache-control"]).toBe("no-store");
		expect(value).not.toContain(key);
		expect(Buffer.from(value, "base64url").toString()).not.toContain(key);
		expect((await page.send("/console/session")).text).toBe(answer.text);
		expect(JSON.parse((await (await signedIn()).send("/console/session")).text)).toEqual({
			principal: { name: "SLUICE_API_KEY", scopes: ["admin"] },
		});
	});

	it("D31: a wrong key is 401 after a second, and sets nothing", async () => {
		const page = browser(service);
		let over = false;
		const answer = page
			.send("/console/session", { method: "POST", body: { key: "wrong-key-0123456789" } })
			.finally(() => (over = true));
		await clock.advance(999);
		expect(over).toBe(false);
		await clock.advance(1);
		expectError(await refused(answer), 401, "unauthorized");
		expect(page.cookie).toBeUndefined();
		expect((await answer).text).not.toContain("wrong-key");
		expectError(await page.send("/console/session"), 401, "unauthorized");
	});

	it.each([
		["no key", {}],
		["an empty key", { key: "" }],
		["a number", { key: 1 }],
		["a long key", { key: "x".repeat(1001) }],
	])("D2: %s is 400", async (_, body) => {
		expectError(
			await browser(service).send("/console/session", { method: "POST", body }),
			400,
			"bad_request",
			["key"],
		);
	});

	it("D31: a page of another origin signs nobody in", async () => {
		for (const headers of [
			{ Origin: "https://evil.example", "Sec-Fetch-Site": undefined },
			{ "Sec-Fetch-Site": "cross-site" },
		]) {
			const page = browser(service);
			expectError(
				await refused(
					page.send("/console/session", { method: "POST", body: { key: KEY }, headers }),
				),
				401,
				"unauthorized",
			);
			expect(page.cookie).toBeUndefined();
		}
		expect(
			(await call(service.url, "/console/session", { key: null, body: { key: KEY } })).status,
		).toBe(200);
	});

	it("D31: signing out takes the cookie away, also one that is over", async () => {
		const page = await signedIn();
		for (const cookie of [page.cookie!, `${page.cookie!}x`, undefined]) {
			page.cookie = cookie;
			const answer = await page.send("/console/session", { method: "DELETE" });
			expect([answer.status, answer.text, cookieOf(answer)]).toMatchObject([
				200,
				"{}",
				{ value: "", attributes: { "max-age": "0", path: "/" } },
			]);
			expect(page.cookie).toBeUndefined();
		}
		page.cookie = (await signedIn()).cookie;
		expectError(
			await page.send("/console/session", {
				method: "DELETE",
				headers: { "Sec-Fetch-Site": "same-site" },
			}),
			401,
			"unauthorized",
		);
	});
});

describe("what the cookie allows", () => {
	const HELD = ROUTES.filter(
		({ access }) => access === "read" || access === "write" || access === "admin",
	);
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
		const { id } = JSON.parse(
			(await page.send("/v2/ep/run", { method: "POST", body: { input: {} } })).text,
		);
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
		expect(
			(await page.send("/v1/endpoints/other", { method: "PATCH", body: { name: "Named" } })).status,
		).toBe(200);
		expect((await page.send(`/v2/ep/cancel/${id}`, { method: "POST" })).status).toBe(200);
		expectError(await page.send("/v2/nowhere/health"), 404, "endpoint_not_found");
		expectError(await page.send("/v1/nothing"), 404, "path_not_found");
	});

	it.each(UNSAFE)(
		"D31: %s %s is 401 from another origin, and taken from its own",
		async (method, path) => {
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
		},
	);

	it("D31: there are such rows of every prefix", () => {
		expect(UNSAFE.length).toBeGreaterThan(25);
		expect(new Set(UNSAFE.map(([, path]) => path.split("/")[1]))).toEqual(
			new Set(["v2", "sdk", "v1"]),
		);
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
				expect((await page.send(path, { headers: { "Sec-Fetch-Site": site } })).status, path).toBe(
					401,
				);
		}
		expect((await operator(service).seen("/endpoints/ep/jobs?limit=100")).jobs).toHaveLength(
			before,
		);
		expect((await operator(service).seen(`/endpoints/ep/jobs/${id}`)).chunks).toEqual({
			written: 1,
			delivered: 0,
		});
		expect(await statusOf(service, "ep", id)).toMatchObject({ status: "COMPLETED" });
		// What changes nothing is read by a browser that does not tell, as over plain HTTP in a local
		// network.
		for (const path of [`/v2/ep/stream/${id}?offset=0`, `/v2/ep/status/${id}`])
			expect(
				(await page.send(path, { headers: { "Sec-Fetch-Site": undefined } })).status,
				path,
			).toBe(200);
		expect((await page.send(`/v2/ep/stream/${id}`)).text).toBe('[{"output":"a","metrics":{}}]');
		expect((await page.send(`/v2/ep/status/${id}?ttl=0`)).status).toBe(200);
		expectError(await call(service.url, `/v2/ep/status/${id}`), 404, "job_not_found");
	});

	it("D30: a key in the header counts before the cookie, whatever it is", async () => {
		const page = await signedIn();
		expectError(
			await page.send("/v1/keys", { headers: { Authorization: "Bearer wrong-key" } }),
			401,
			"unauthorized",
		);
		const { key } = await keyWith(service, ["read"]);
		expectError(
			await page.send("/v1/keys", { headers: { Authorization: `Bearer ${key}` } }),
			401,
			"unauthorized",
		);
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
		expect(
			(await page.send("/v1/keys", { headers: { Authorization: "Basic dXNlcjpwYXNz cg==" } }))
				.status,
		).toBe(200);
	});

	it("D30, D31: a session may what its key may", async () => {
		const read = await signedIn((await keyWith(service, ["read"])).key);
		expect((await read.send("/v1/endpoints")).status).toBe(200);
		expect(
			expectError(
				await read.send("/v2/ep/run", { method: "POST", body: { input: {} } }),
				401,
				"unauthorized",
			).error,
		).toContain("the scope write");
		expectError(
			await read.send("/v1/keys", { method: "POST", body: { name: "a", scopes: ["admin"] } }),
			401,
			"unauthorized",
		);
		const here = await signedIn((await keyWith(service, ["write"], ["ep"])).key);
		expect(
			JSON.parse((await here.send("/v1/endpoints")).text).endpoints.map(
				({ id }: { id: string }) => id,
			),
		).toEqual(["ep"]);
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

describe("behind a proxy", () => {
	const byProxy = { Host: "127.0.0.1:8080", Origin: "https://jobs.example" };

	it("D31: the origin of publicUrl is its own, with its path and Secure", async () => {
		const page = browser(service);
		const answer = await page.send("/console/session", {
			method: "POST",
			body: { key: KEY },
			headers: byProxy,
		});
		expect(cookieOf(answer)?.attributes).toMatchObject({ path: "/sluice", secure: "" });
		expect(
			(await page.send("/v1/endpoints/ep/pause", { method: "POST", headers: byProxy })).status,
		).toBe(200);
		expect(
			(await page.send("/v1/endpoints/ep/resume", { method: "POST", headers: byProxy })).status,
		).toBe(200);
		await clock.advance(600_000);
		expect(
			cookieOf(await page.send("/v1/endpoints"))?.attributes,
			"a renewed cookie takes the place of the first",
		).toMatchObject({ path: "/sluice", secure: "" });
		expect(
			cookieOf(await page.send("/console/session", { method: "DELETE" }))?.attributes,
		).toMatchObject({ path: "/sluice", "max-age": "0" });
	});

	it("D31: a proxy that passes Host on needs no setting, and what it says of the scheme is not taken", async () => {
		const answer = await browser(service).send("/console/session", {
			method: "POST",
			body: { key: KEY },
			headers: { Host: "other.example", Origin: "https://other.example" },
		});
		expect(cookieOf(answer)?.attributes).toMatchObject({ path: "/", secure: "" });
		const port = await browser(service).send("/console/session", {
			method: "POST",
			body: { key: KEY },
			headers: { Host: "other.example:443", Origin: "https://other.example" },
		});
		expect(port.status).toBe(200);
		const plain = await browser(service).send("/console/session", {
			method: "POST",
			body: { key: KEY },
			headers: { "X-Forwarded-Proto": "https" },
		});
		expect(cookieOf(plain)?.attributes["secure"]).toBeUndefined();
	});

	it.each([
		"http://jobs.example",
		"https://jobs.example:444",
		"https://jobs.example.evil.example",
		"https://x@jobs.example.evil.example",
	])("D31: %s is another origin", async (Origin) => {
		expectError(
			await refused(
				browser(service).send("/console/session", {
					method: "POST",
					body: { key: KEY },
					headers: { Host: "127.0.0.1:8080", Origin },
				}),
			),
			401,
			"unauthorized",
		);
	});
});

describe("the end of a session", () => {
	it("D31: it goes on while it is used, and is over 12 h later", async () => {
		const time = { leap: 0, now: () => clock.now() + time.leap, sleep: clock.sleep };
		const own = await startService({ endpoints: {}, clock: time });
		const page = browser(own);
		await page.signIn();
		const first = page.cookie;
		const later = async (ms: number): Promise<RawAnswer> => {
			time.leap += ms;
			own.leapt();
			return await page.send("/v1/endpoints");
		};
		expect(cookieOf(await later(599_000))).toBeUndefined();
		expect(cookieOf(await later(1000))?.attributes).toMatchObject({
			"max-age": String(SESSION_MS / 1000),
			path: "/",
			httponly: "",
			samesite: "Strict",
		});
		expect(page.cookie).not.toBe(first);
		expect((await later(SESSION_MS - 1)).status).toBe(200);
		expect(expectError(await later(SESSION_MS), 401, "unauthorized").error).toContain(
			"The session of the console is over",
		);
		await endWith(own, clock);
	});

	it("D31: a revoked key ends its sessions at their next call", async () => {
		const { id, key } = await keyWith(service, ["read"]);
		const pages = [await signedIn(key), await signedIn(key)];
		for (const page of pages) expect((await page.send("/v1/endpoints")).status).toBe(200);
		await operator(service).remove(`/keys/${id}`);
		for (const page of pages)
			expect(expectError(await page.send("/v1/endpoints"), 401, "unauthorized").error).toContain(
				"its key has ended",
			);
	});

	it("D31: a cookie that was changed, or is another service's, is none", async () => {
		const page = await signedIn((await keyWith(service, ["read"])).key);
		const [name = "", value = ""] = page.cookie!.split("=");
		const [body = "", signature = ""] = value.split(".");
		const forged = Buffer.from(
			JSON.stringify({
				...JSON.parse(Buffer.from(body, "base64url").toString()),
				key: "environment",
			}),
		).toString("base64url");
		for (const token of [
			"",
			"x",
			".",
			body,
			`${body}.`,
			`${body}.${signature.slice(1)}`,
			`${forged}.${signature}`,
			`${value}.x`,
			"x".repeat(10_000),
			"%00",
			"__proto__",
		]) {
			page.cookie = `${name}=${token}`;
			expectError(await page.send("/v1/endpoints"), 401, "unauthorized");
		}
		page.cookie = `a=b; x${name}=${value}; sluice=${value}`;
		expect(expectError(await page.send("/v1/endpoints"), 401, "unauthorized").error).toContain(
			"carries no API key",
		);
		page.cookie = `a=b; ${name}=${value}; c=d`;
		expect((await page.send("/v1/endpoints")).status).toBe(200);
	});

	it("D31: it outlives a restart of the service, since nothing of it is stored", async () => {
		const place = folder();
		const first = await startService({ endpoints: { ep: {} }, in: place });
		const page = browser(first);
		await page.signIn();
		await first.end();
		const second = await startService({ endpoints: { ep: {} }, in: place });
		const again = browser(second);
		again.cookie = page.cookie;
		expect((await again.send("/v1/endpoints")).status).toBe(200);
		await second.end();
		place.remove();
	});
});
