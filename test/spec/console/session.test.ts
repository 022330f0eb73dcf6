/** Signing in to the console, behind a proxy too, and the end of a session (D31). */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SESSION_MAX_MS, SESSION_MS } from "../../../src/modules/console/sessions.ts";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, folder, KEY, startService, type TestService } from "../../support/service.ts";
import { ON_TLS } from "../../support/transport.ts";
import { browser, type Browser, cookieOf } from "./browser.ts";
import { endWith, expectError } from "../hand-worker.ts";
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
			pageToken: expect.stringMatching(/^[0-9a-f]{48}$/),
		});
		const { value, attributes } = cookieOf(answer)!;
		expect(attributes).toEqual({
			"max-age": String(SESSION_MAX_MS / 1000),
			path: "/",
			httponly: "",
			samesite: "Strict",
			...(ON_TLS && { secure: "" }),
		});
		expect(answer.headers["cache-control"]).toBe("no-store");
		expect(value).not.toContain(key);
		expect(JSON.parse((await page.send("/console/session")).text)).toEqual({
			principal: { name: "write", scopes: ["write"], endpoints: ["ep"] },
		});
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

	it("D2: neither key nor link, and both, is 400", async () => {
		for (const body of [{}, { key: null }, { link: null }, { key: KEY, link: "x" }])
			expectError(await browser(service).send("/console/session", { method: "POST", body }), 400, "bad_request", [""]);
	});

	it.each([
		["an empty key", { key: "" }],
		["a number", { key: 1 }],
		["a long key", { key: "x".repeat(1001) }],
	])("D2: %s is 400", async (_, body) => {
		expectError(await browser(service).send("/console/session", { method: "POST", body }), 400, "bad_request", ["key"]);
	});

	it("D31: a page of another origin starts no session", async () => {
		for (const headers of [
			{ Origin: "https://evil.example", "Sec-Fetch-Site": undefined },
			{ "Sec-Fetch-Site": "cross-site" },
		]) {
			const page = browser(service);
			expectError(
				await refused(page.send("/console/session", { method: "POST", body: { key: KEY }, headers })),
				401,
				"unauthorized",
			);
			expect(page.cookie).toBeUndefined();
		}
		expect((await call(service.url, "/console/session", { key: null, body: { key: KEY } })).status).toBe(200);
	});

	it("D31: signing out removes the cookie, also one that is over", async () => {
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
describe("behind a proxy", () => {
	const byProxy = { Host: "127.0.0.1:8080", Origin: "https://jobs.example" };

	it("D31: the origin of publicUrl is its own, with its path and Secure", async () => {
		const page = browser(service);
		const answer = await page.send("/console/session", {
			method: "POST",
			body: { key: KEY },
			headers: byProxy,
		});
		expect(cookieOf(answer)).toMatchObject({
			name: expect.stringMatching(/^__Secure-sluice_/),
			attributes: { path: "/sluice", secure: "" },
		});
		expect((await page.send("/v1/endpoints/ep/pause", { method: "POST", headers: byProxy })).status).toBe(200);
		expect((await page.send("/v1/endpoints/ep/resume", { method: "POST", headers: byProxy })).status).toBe(200);
		const out = await page.send("/console/session", { method: "DELETE", headers: byProxy });
		expect(cookieOf(out)).toMatchObject({
			name: cookieOf(answer)!.name,
			attributes: { path: "/sluice", "max-age": "0" },
		});
	});

	it("D31: a proxy that passes Host on needs no setting, and what it says of the scheme is not taken", async () => {
		const answer = await browser(service).send("/console/session", {
			method: "POST",
			body: { key: KEY },
			headers: { Host: "other.example", Origin: "https://other.example" },
		});
		expect(cookieOf(answer)).toMatchObject({
			name: expect.stringMatching(/^__Host-sluice_/),
			attributes: { path: "/", secure: "" },
		});
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
		expect(cookieOf(plain)?.attributes["secure"]).toBe(ON_TLS ? "" : undefined);
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
		const time = { ...clock, leap: 0, wall: () => clock.wall() + time.leap };
		const own = await startService({ endpoints: {}, clock: time });
		const page = browser(own);
		await page.signIn();
		const later = async (ms: number): Promise<RawAnswer> => {
			let noticed = false;
			void own.next("clock.stepped").then(() => (noticed = true));
			time.leap += ms;
			await advanceUntil(clock, () => noticed, 100);
			return await page.send("/v1/endpoints");
		};
		expect((await later(SESSION_MS - 60_000)).status).toBe(200);
		expect((await later(SESSION_MS - 60_000)).status).toBe(200);
		expect(expectError(await later(SESSION_MS), 401, "unauthorized").error).toContain("The console session has ended");
		await endWith(own, clock);
	});

	it("D1, D31: HEAD does not renew it", async () => {
		const time = { ...clock, leap: 0, wall: () => clock.wall() + time.leap };
		const own = await startService({ endpoints: {}, clock: time });
		const page = browser(own);
		await page.signIn();
		const probe = async (ms: number): Promise<number> => {
			let noticed = false;
			void own.next("clock.stepped").then(() => (noticed = true));
			time.leap += ms;
			await advanceUntil(clock, () => noticed, 100);
			return (await page.send("/console/session", { method: "HEAD" })).status;
		};
		expect(await probe(SESSION_MS - 60_000)).toBe(200);
		expect(await probe(120_000)).toBe(401);
		await endWith(own, clock);
	});

	it("D31: a sign-out ends it for every copy of its cookie, at once", async () => {
		const page = await signedIn();
		const copy = browser(service);
		[copy.cookie, copy.pageToken] = [page.cookie, page.pageToken];
		const other = await signedIn();
		expect((await copy.send("/v1/keys")).status).toBe(200);
		expect((await page.send("/console/session", { method: "DELETE" })).status).toBe(200);
		expect(expectError(await copy.send("/v1/keys"), 401, "unauthorized").error).toContain(
			"The console session has ended",
		);
		expect((await other.send("/v1/keys")).status).toBe(200);
	});

	it("D31: a cookie without its page token ends nothing", async () => {
		const page = await signedIn();
		const thief = browser(service);
		thief.cookie = page.cookie;
		expect((await thief.send("/console/session", { method: "DELETE" })).status).toBe(200);
		expect((await page.send("/v1/keys")).status).toBe(200);
	});

	it("D31: a revoked key ends its sessions at their next call", async () => {
		const { id, key } = await keyWith(service, ["read"]);
		const pages = [await signedIn(key), await signedIn(key)];
		for (const page of pages) expect((await page.send("/v1/endpoints")).status).toBe(200);
		await operator(service).remove(`/keys/${id}`);
		for (const page of pages)
			expect(expectError(await page.send("/v1/endpoints"), 401, "unauthorized").error).toContain("its key was revoked");
	});

	it("D31: a cookie that was changed, or is another service's, is none", async () => {
		const page = await signedIn((await keyWith(service, ["read"])).key);
		const [name = "", value = ""] = page.cookie!.split("=");
		for (const token of [
			"",
			"x",
			".",
			value.slice(1),
			`${value}0`,
			value.toUpperCase(),
			createHash("sha256").update(value).digest("hex"),
			"x".repeat(10_000),
			"%00",
			"__proto__",
		]) {
			page.cookie = `${name}=${token}`;
			expectError(await page.send("/v1/endpoints"), 401, "unauthorized");
		}
		page.cookie = `a=b; x${name}=${value}; sluice=${value}`;
		expect(expectError(await page.send("/v1/endpoints"), 401, "unauthorized").error).toContain("carries no API key");
		page.cookie = `a=b; ${name}=${value}; c=d`;
		expect((await page.send("/v1/endpoints")).status).toBe(200);
	});

	it("D31: it outlives a restart of the service", async () => {
		const place = folder();
		const first = await startService({ endpoints: { ep: {} }, in: place });
		const page = browser(first);
		await page.signIn();
		await first.end();
		const second = await startService({ endpoints: { ep: {} }, in: place });
		const again = browser(second);
		[again.cookie, again.pageToken] = [page.cookie, page.pageToken];
		expect((await again.send("/v1/endpoints")).status).toBe(200);
		await second.end();
		place.remove();
	});
});
