/** Links that sign in to the console once (D31). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { LINK_MS } from "../../../src/modules/console/links.ts";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { browser, cookieOf } from "./browser.ts";
import { endWith, expectError } from "../hand-worker.ts";
import { held } from "../openapi-calls.ts";
import { keyWith, keylessService, operator } from "../operator.ts";

const clock = manualClock();
const time = { ...clock, leap: 0, wall: () => clock.wall() + time.leap };
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {} },
		settings: { publicUrl: "https://jobs.example/sluice" },
		clock: time,
	});
});
afterAll(() => endWith(service, clock));

/** Sets the time of day forward, until the service has noticed it. */
async function setForward(ms: number): Promise<void> {
	let noticed = false;
	void service.next("clock.stepped").then(() => (noticed = true));
	time.leap += ms;
	await advanceUntil(clock, () => noticed, 100);
}

/** A new link, as a path. */
async function newLink(key: string = KEY): Promise<string> {
	const { status, json, text } = await operator(service, key).post("/console-link");
	expect(status, text).toBe(200);
	return json.path;
}

it("D31: a link signs in as the holder of the key, and leads to the console", async () => {
	const { key } = await keyWith(service, ["admin"]);
	const made = await operator(service, key).post("/console-link");
	expect(made.json).toEqual({
		path: expect.stringMatching(/^\/console\/#\/link\/[0-9a-f]{48}$/),
		expiresAt: new Date(time.now() + LINK_MS).toISOString(),
	});
	const page = browser(service);
	const answer = await page.open(made.json.path);
	expect(JSON.parse(answer.text)).toEqual({
		principal: { name: "admin", scopes: ["admin"] },
		pageToken: expect.stringMatching(/^[0-9a-f]{48}$/),
	});
	expect(cookieOf(answer)?.attributes).toMatchObject({
		path: "/",
		httponly: "",
		samesite: "Strict",
	});
	expect(JSON.parse((await page.send("/console/session")).text)).toEqual({
		principal: { name: "admin", scopes: ["admin"] },
	});
});

it("D31: it is good once, and no request for its address uses it up", async () => {
	const link = await newLink();
	for (const method of ["GET", "HEAD"])
		expect((await browser(service).send(link.split("#")[0]!, { method })).status).toBe(200);
	expect((await browser(service).open(link)).status).toBe(200);
	expectError(await browser(service).open(link), 401, "console_link_over");
});

it("D31: it is good for 10 minutes", async () => {
	const [first, second] = [await newLink(), await newLink()];
	await setForward(LINK_MS - 30_000);
	expect((await browser(service).open(first)).status).toBe(200);
	await setForward(30_000);
	expectError(await browser(service).open(second), 401, "console_link_over");
});

it("D31: a key that is revoked before takes its link with it", async () => {
	const { id, key } = await keyWith(service, ["admin"]);
	const link = await newLink(key);
	await operator(service).remove(`/keys/${id}`);
	expectError(await browser(service).open(link), 401, "console_link_over");
});

it("D30, D31: a rotation of the key takes its links with it", async () => {
	const { id, key } = await keyWith(service, ["admin"]);
	const link = await newLink(key);
	expect((await operator(service).post(`/keys/${id}/rotate`, {})).status).toBe(200);
	expectError(await browser(service).open(link), 401, "console_link_over");
});

it("D31: a page of another origin cannot use it up", async () => {
	const link = await newLink();
	const page = browser(service);
	const refused = page.open(link, { headers: { "Sec-Fetch-Site": "same-site" } });
	expectError(await held(clock, refused, 100), 401, "unauthorized");
	expect((await page.open(link)).status).toBe(200);
});

it("D31: of more than 100 the oldest goes", async () => {
	const links: string[] = [];
	for (let count = 0; count < 101; count += 1) links.push(await newLink());
	expectError(await browser(service).open(links[0]!), 401, "console_link_over");
	expect((await browser(service).open(links[1]!)).status).toBe(200);
});

it("D30: only an admin makes one", async () => {
	expectError(
		await operator(service, (await keyWith(service, ["read", "write"])).key).post("/console-link"),
		401,
		"unauthorized",
	);
});

it("D31: behind a proxy its cookie is that of publicUrl, also where the proxy leaves no Origin", async () => {
	const page = browser(service);
	const answer = await page.open(await newLink(), {
		headers: { Host: "jobs.example", Origin: undefined, "Sec-Fetch-Site": undefined },
	});
	expect(cookieOf(answer)?.attributes).toMatchObject({ path: "/sluice", secure: "" });
});

it("D31, D33: a service on loopback prints one, with the key of the environment or the first one", async () => {
	expect(service.consoleLink).toMatch(new RegExp(`^${service.url}/console/#/link/[0-9a-f]{48}$`));
	const { app, key, end } = await keylessService();
	const page = browser(app);
	expect((await page.open(app.consoleLink!)).status).toBe(200);
	expect(JSON.parse((await page.send("/console/session")).text)).toEqual({
		principal: { name: "First key", scopes: ["admin"] },
	});
	expect((await call(app.url, "/console/session", { key })).json).toEqual({
		principal: { name: "First key", scopes: ["admin"] },
	});
	await end();
});
