/** `/v1/sessions`: sessions of the console, listed and ended by administrators (D31, D39). */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { SESSION_MS } from "../../../src/modules/console/sessions.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { writtenIn } from "../../support/service-store.ts";
import { KEY, startService, type TestService } from "../../support/service.ts";
import { browser, type Browser } from "../console/browser.ts";
import { endWith, expectError } from "../hand-worker.ts";
import { keyWith, operator, type Operator } from "../operator.ts";

const clock = manualClock();
let service: TestService;
let admin: Operator;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} }, clock });
	admin = operator(service);
});
beforeEach(() => admin.remove("/sessions"));
afterAll(() => endWith(service, clock));

async function signedIn(key = KEY, agent = "curl/8.14.1"): Promise<Browser> {
	const page = browser(service);
	const answer = await page.send("/console/session", {
		method: "POST",
		body: { key },
		headers: { "User-Agent": agent },
	});
	expect(answer.status, answer.text).toBe(200);
	return page;
}

const listed = async (): Promise<any[]> => (await admin.seen("/sessions")).sessions;
const status = async (page: Browser): Promise<number> => (await page.send("/v1/endpoints")).status;

it("D31: the list says whose they are, how they began, from where and until when; no secret", async () => {
	expect(await listed()).toEqual([]);
	const { id: keyId, key } = await keyWith(service, ["read"]);
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0";
	const page = await signedIn(key, firefox);
	await clock.advance(1000);
	const { path } = (await admin.post("/console-link")).json;
	const own = browser(service);
	await own.open(path);
	const at = (ms: number): string => new Date(clock.now() + ms).toISOString();
	const common = { id: expect.any(String), address: expect.stringMatching(/127\.0\.0\.1$/) };
	const both = [
		{
			...common,
			keyId: "environment",
			keyName: "SLUICE_API_KEY",
			signIn: "link",
			createdAt: at(0),
			lastUsedAt: at(0),
			expiresAt: at(SESSION_MS),
			client: "",
			current: false,
		},
		{
			...common,
			keyId,
			keyName: "read",
			signIn: "key",
			createdAt: at(-1000),
			lastUsedAt: at(-1000),
			expiresAt: at(SESSION_MS - 1000),
			client: "Firefox 143 on Linux",
			current: false,
		},
	];
	expect(await listed()).toEqual(both);
	const seen = JSON.parse((await own.send("/v1/sessions")).text).sessions;
	expect(seen).toEqual([{ ...both[0], current: true }, both[1]]);
	await clock.advance(60_000);
	await status(page);
	await clock.advance(0);
	expect((await listed())[0]).toMatchObject({ keyId, lastUsedAt: at(0), createdAt: at(-61_000) });
	const secrets = [page, own].flatMap(({ cookie, pageToken }) => [cookie!.split("=")[1]!, pageToken!]);
	for (const bytes of await writtenIn(service.folder.path))
		for (const secret of secrets) expect(bytes.includes(secret)).toBe(false);
});

it("D31, D42: one is ended: its next request is 401, others go on, and the audit log says so", async () => {
	const [one, two] = [await signedIn(), await signedIn()];
	const [, { id }] = await listed();
	expect((await admin.remove(`/sessions/${id}`)).json).toEqual({});
	// They were used at the same moment: either may be first in the list.
	expect(new Set([await status(one), await status(two)])).toEqual(new Set([200, 401]));
	expect(await listed()).toHaveLength(1);
	expectError(await admin.remove(`/sessions/${id}`), 404, "session_not_found");
	const { entries } = await admin.seen("/audit?limit=2");
	expect(entries).toMatchObject([
		{ action: "endSession", subject: [id], result: "session_not_found" },
		{ action: "endSession", subject: [id], result: "ok" },
	]);
});

it("D31: all are ended but the caller's own, or those of one key", async () => {
	const { id: keyId, key } = await keyWith(service, ["write"]);
	const [own, other] = [await signedIn(), await signedIn()];
	const third = [await signedIn(key), await signedIn(key)];
	const end = async (query = "") => JSON.parse((await own.send(`/v1/sessions${query}`, { method: "DELETE" })).text);
	expect(await end(`?key=${keyId}`)).toEqual({ ended: 2 });
	for (const page of third) expect(await status(page)).toBe(401);
	expect(await status(other)).toBe(200);
	expect(await end()).toEqual({ ended: 1 });
	expect([await status(own), await status(other)]).toEqual([200, 401]);
	expect((await admin.remove("/sessions")).json).toEqual({ ended: 1 });
	expect(await status(own)).toBe(401);
});

it("D42: signing in and out are in the audit log, with the session", async () => {
	const page = await signedIn();
	const [{ id }] = await listed();
	await page.send("/console/session", { method: "DELETE" });
	expect((await admin.seen("/audit?limit=2")).entries).toMatchObject([
		{ action: "signOut", subject: [id], result: "ok" },
		{ action: "signIn", subject: [id], result: "ok" },
	]);
	expect(await listed()).toEqual([]);
});

it("D31, D39: the live feed of a session ends with it", async () => {
	const page = await signedIn();
	const [{ id }] = await listed();
	const events = await fetch(`${service.url}/v1/feed?interval=1`, {
		headers: {
			cookie: page.cookie!,
			"sluice-page-token": page.pageToken!,
			"sec-fetch-site": "same-origin",
		},
	});
	const reader = events.body!.getReader();
	expect(new TextDecoder().decode((await reader.read()).value)).toContain("event: overview");
	await admin.remove(`/sessions/${id}`);
	await clock.advance(1000);
	for (;;) if ((await reader.read()).done) break;
});

it("D30: for admin keys only", async () => {
	const { key } = await keyWith(service, ["write"]);
	expectError(await operator(service, key).get("/sessions"), 401, "unauthorized");
	expectError(await operator(service, key).remove("/sessions"), 401, "unauthorized");
	expect(await status(await signedIn(key))).toBe(200);
	expect(await listed()).toHaveLength(1);
});

it("D31: of more than 100 of a key the one that was unused longest ends", async () => {
	const first = await signedIn();
	await clock.advance(1);
	for (let n = 0; n < 100; n += 1) await signedIn();
	expect(await status(first)).toBe(401);
	expect(await listed()).toHaveLength(100);
});
