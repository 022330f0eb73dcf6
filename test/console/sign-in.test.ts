/** Signing in to the console in a real browser, and what a session may do there (D31). */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { SESSION_MS } from "../../src/modules/console/sessions.ts";
import { KEY, call } from "../support/service.ts";
import { goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const time = { leap: 0 };
const here = site({
	settings: { webhooks: { allowPrivateNetworks: true } },
	endpoints: (place) => ({
		work: place.stage({ name: "Works" }),
		other: { name: "Other" },
		waiting: { name: "Waits" },
	}),
	clock: { ...systemClock, wall: () => systemClock.wall() + time.leap },
});

/** What the browser itself says of a call that is refused. */
const REFUSED = /status of 401/;

async function signIn(page: Page, key: string): Promise<void> {
	await page.getByLabel(T.signIn.key).fill(key);
	await press(page, T.signIn.act);
}

describe.skipIf(noBrowser !== undefined)(titled("signing in to the console"), () => {
	it("D31, spec 5.2: by a link, once; then no call needs a key, and no script can read the cookie", async () => {
		const { json } = await call(here.service.url, "/v1/console-link", { method: "POST" });
		const page = await here.open({ key: null, forgive: REFUSED });
		await page.getByLabel(T.signIn.key).waitFor();
		await page.goto(here.service.url + json.path);
		await page.getByRole("link", { name: "Works" }).first().waitFor();
		expect(page.url()).toBe(`${here.service.url}/console/#/`);
		expect(await page.evaluate("document.cookie")).toBe("");
		expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: "Strict", path: "/" }]);
		// Loaded again by its user, also in a new tab, it leads on; elsewhere it is over.
		await page.reload();
		await page.getByRole("link", { name: "Works" }).first().waitFor();
		const tab = await page.context().newPage();
		await tab.goto(here.service.url + json.path);
		await tab.getByRole("link", { name: "Works" }).first().waitFor();
		const other = await here.open({ key: null, forgive: REFUSED });
		await other.getByLabel(T.signIn.key).waitFor();
		await other.goto(here.service.url + json.path);
		await other.getByRole("alert").getByText(/link/).waitFor();
		expect(await other.getByText("console_link_over").count()).toBe(0);
	});

	it("D31: by a key; a wrong one is refused with its sentence, and the page keeps neither", async () => {
		const page = await here.open({ key: null, forgive: REFUSED });
		await signIn(page, "wrong-key-0123456789");
		await page.getByRole("alert").getByText(T.signIn.wrong, { exact: true }).waitFor();
		await signIn(page, KEY);
		await page.getByRole("heading", { name: T.pages.overview }).waitFor();
		expect(
			await page.evaluate(
				"JSON.stringify({ ...localStorage, ...sessionStorage }) + document.documentElement.outerHTML",
			),
		).not.toContain(KEY);
		await page.reload();
		await page.getByRole("heading", { name: T.pages.overview }).waitFor();
	});

	it("D31: signing out ends the session", async () => {
		const page = await here.open({ forgive: REFUSED });
		await press(page, T.signOut);
		await page.getByLabel(T.signIn.key).waitFor();
		expect(await page.context().cookies()).toEqual([]);
		await page.reload();
		await page.getByLabel(T.signIn.key).waitFor();
	});

	it("D31: a session that is over leads to the sign-in, and from there back to the same page", async () => {
		const page = await here.open({ at: "#/endpoints/work/settings", forgive: REFUSED });
		await page.getByLabel(T.settings.names.idleTimeout).waitFor();
		time.leap += SESSION_MS;
		await goTo(page, "#/endpoints/work/connect");
		await goTo(page, "#/endpoints/other/settings");
		await page.getByLabel(T.signIn.key).waitFor();
		await signIn(page, KEY);
		await page.getByLabel(T.settings.names.idleTimeout).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/other/settings");
	});

	it("D30, spec 5.3: a key is shown once; its next call after it is revoked is 401, its sessions' too", async () => {
		const page = await here.open({ at: "#/keys" });
		const keys = page.getByRole("table", { name: T.pages.keys });
		const row = keys.locator("tbody tr", { hasText: "batch" });
		await press(page, T.keys.create);
		const dialog = page.getByRole("dialog");
		await dialog.getByLabel(T.keys.name, { exact: true }).fill("batch");
		await press(page, T.keys.create);
		await dialog.getByText(T.keys.once).waitFor();
		const key = (await dialog.locator("pre").textContent())!;
		await press(page, T.copy);
		expect(await page.evaluate("navigator.clipboard.readText()")).toBe(key);
		await press(page, T.keys.kept);
		// Neither used nor to expire.
		await row.getByText(T.keys.never).nth(1).waitFor();
		expect(await page.content()).not.toContain(key);

		const before = await call(here.service.url, "/v2/waiting/run", { key, body: { input: {} } });
		expect(before.status).toBe(200);
		const held = await here.open({ key, at: "#/endpoints/waiting/requests", forgive: REFUSED });
		await rowOf(held, tail(before.json.id)).waitFor();

		await row.getByRole("button", { name: T.keys.revoke }).click();
		await press(page, T.keys.revoke);
		await row.waitFor({ state: "detached" });
		expect((await call(here.service.url, "/v2/waiting/run", { key, body: { input: {} } })).status).toBe(401);
		await goTo(held, "#/endpoints/waiting/workers");
		await held.getByLabel(T.signIn.key).waitFor();
	});

	it("D30: a session of a key that may only read sees everything and nothing that it may not do", async () => {
		const [failed, waiting, worker] = [
			await here.ended("work", { fail: "no" }),
			await here.submit("waiting", {}, { webhook: "http://127.0.0.1:1/" }),
			(await call(here.service.url, "/v1/endpoints/work/workers")).json.workers[0].id as string,
		];
		const { key } = await here.key(["read"]);
		const page = await here.open({ key, forgive: REFUSED });
		/** All that the console itself may do for anybody. */
		const harmless = [
			T.palette.open,
			T.menu.open,
			T.theme.system,
			T.theme.light,
			T.theme.dark,
			T.signOut,
			T.copy,
			T.job.copyId,
			T.requests.filters,
			T.requests.save,
			T.job.newer,
			T.job.older,
			T.close,
			T.again,
			T.webhooks.endpoint,
			"Hide suggestions",
			T.first.hide,
			T.charts.earlier,
			T.charts.zoomIn,
			T.requests.columns,
			T.compare.open,
			T.settings.copies.yaml,
			T.webhooks.open,
		].map(String);
		for (const [hash, ready] of [
			["#/overview", "Works"],
			["#/endpoints/work/charts", T.charts.queue],
			["#/endpoints/work/requests", tail(failed)],
			[`#/endpoints/work/requests/${failed}`, T.job.timeline],
			[`#/endpoints/waiting/requests/${waiting}`, T.pages.webhooks],
			["#/endpoints/work/try", T.try.mayNot],
			["#/endpoints/work/workers", worker],
			["#/endpoints/work/connect", T.connect.key],
			["#/endpoints/work/settings", T.settings.readOnly],
			["#/workers", worker],
			["#/webhooks", T.pages.webhooks],
			["#/keys", T.keys.mayNot],
			["#/audit", T.audit.mayNot],
		] as const) {
			await goTo(page, hash);
			await page.locator("main").getByText(ready, { exact: false }).first().waitFor();
			const buttons = await page
				.locator("button:enabled")
				.evaluateAll((all) =>
					all
						.filter((each) => each.getAttribute("role") === null && !/json-(fold|more)|segment/.test(each.className))
						.map((each) => each.getAttribute("aria-label") ?? each.textContent),
				);
			expect(
				buttons.map((each) => (each ?? "").trim()).filter((each) => !harmless.some((known) => each.startsWith(known))),
				hash,
			).toEqual([]);
			expect(
				await page
					.locator(
						"main input:enabled:not([type=search], [type=datetime-local], [type=checkbox]), main textarea:enabled",
					)
					.count(),
				hash,
			).toBe(0);
			expect(
				await page
					.getByRole("link", {
						name: new RegExp(`^(${T.pages.keys}|${T.pages.audit}|${T.job.again}|${T.requests.sendOne})$`),
					})
					.count(),
				hash,
			).toBe(0);
		}
	});

	it("D30: a session of a key for one endpoint knows of no other", async () => {
		const { key } = await here.key(["write"], ["other"]);
		const page = await here.open({ key, forgive: /status of 40[14]/ });
		await page.getByRole("link", { name: "Other" }).first().waitFor();
		expect(await page.getByText("Works").count()).toBe(0);
		await goTo(page, "#/endpoints/work/requests");
		await page.getByRole("alert").waitFor();
	});

	it("D31: a link in an output opens after a question; the service there cannot use the session", async () => {
		const received: IncomingHttpHeaders[] = [];
		const neighbour = createServer((req, res) => {
			if (req.url === "/result") received.push(req.headers);
			res.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>next</title>");
		});
		await once(neighbour.listen(0, "127.0.0.1"), "listening");
		onTestFinished(() => void neighbour.close());
		const address = `http://127.0.0.1:${(neighbour.address() as AddressInfo).port}/result`;
		const id = await here.ended("work", { output: { picture: address } });
		const page = await here.open({ at: `#/endpoints/work/requests/${id}`, forgive: /asked for/ });
		const inOutput = page.getByRole("button", { name: address, exact: true }).first();
		await inOutput.click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText(address, { exact: true }).waitFor();
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "detached" });
		expect(received).toEqual([]);
		await inOutput.click();
		const [opened] = await Promise.all([
			page.context().waitForEvent("page"),
			dialog.getByRole("link", { name: T.leave.open }).click(),
		]);
		await opened.waitForLoadState();
		expect(await opened.evaluate("[window.opener, document.referrer]")).toEqual([null, ""]);
		expect(received).toMatchObject([{ host: new URL(address).host }]);
		const [{ cookie = "", referer, ...others } = {}] = received;
		expect([referer, Object.keys(others).filter((name) => name.startsWith("sluice"))]).toEqual([undefined, []]);
		// The browser sends the cookie to every port of the host: with it the neighbour forges the rest.
		expect(cookie).toMatch(/sluice_/);
		for (const [method, path] of [
			["GET", "/v1/keys"],
			["POST", "/v1/keys"],
			["GET", "/console/session"],
			["GET", "/v1/feed"],
		] as const) {
			const answer = await call(here.service.url, path, {
				key: null,
				method,
				headers: { cookie, origin: here.service.url, "sec-fetch-site": "same-origin" },
			});
			expect(answer.status, path).toBe(401);
		}
		await page.reload();
		await inOutput.waitFor();
	});

	it("D31: a second tab and a reload keep the session; signing out in one ends both", async () => {
		const page = await here.open({ key: null, forgive: REFUSED });
		await signIn(page, KEY);
		await page.getByRole("heading", { name: T.pages.overview }).waitFor();
		const tab = await page.context().newPage();
		await tab.goto(`${here.service.url}/console/#/endpoints/work/requests`);
		await tab.getByRole("heading", { name: "Works" }).first().waitFor();
		await tab.getByText(T.live, { exact: true }).first().waitFor({ state: "attached" });
		await press(page, T.signOut);
		await page.getByLabel(T.signIn.key).waitFor();
		await tab.reload();
		await tab.getByLabel(T.signIn.key).waitFor();
	});

	it("D31, D38: a page of another origin cannot use the session, whatever it tries", async () => {
		const elsewhere = createServer((_, res) =>
			res
				.writeHead(200, { "Content-Type": "text/html" })
				.end("<!doctype html><title>elsewhere</title><iframe name=into></iframe>"),
		);
		await once(elsewhere.listen(0, "127.0.0.1"), "listening");
		onTestFinished(() => void elsewhere.close());
		const page = await here.open({ forgive: /./ });
		const own = await page.evaluate(`fetch("../v1/endpoints", { headers: {
			"Sluice-Page-Token": JSON.parse(localStorage.getItem("sluice.console.session./console/")),
		} }).then(({ status }) => status)`);
		expect(own).toBe(200);
		// The same host on another port is the same site: the browser does send the cookie.
		await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
		const before = (await call(here.service.url, "/v1/endpoints")).text;
		const cookies: Promise<string>[] = [];
		page.on(
			"request",
			(request) =>
				void (
					request.url().startsWith(here.service.url) &&
					cookies.push(
						request.allHeaders().then(
							({ cookie = "" }) => cookie,
							() => "",
						),
					)
				),
		);
		const tries = await page.evaluate(
			`Promise.all(${JSON.stringify([
				["POST", "/v2/other/run", '{"input":{}}'],
				["POST", "/v1/endpoints/other/pause", ""],
				["DELETE", "/v1/endpoints/other", ""],
				["PATCH", "/v1/endpoints/other", "{}"],
				["POST", "/v1/keys", '{"name":"x","scopes":["admin"]}'],
				["GET", "/v1/endpoints", undefined],
				["GET", "/v2/other/openai/v1/models", undefined],
			])}.map(([method, path, body]) =>
				fetch(${JSON.stringify(here.service.url)} + path, { method, body, credentials: "include" })
					.then(({ status }) => status, () => "blocked")
					.then((status) => method + " " + path + " " + status)))`,
		);
		expect(tries).toEqual([
			"POST /v2/other/run blocked",
			"POST /v1/endpoints/other/pause blocked",
			"DELETE /v1/endpoints/other blocked",
			"PATCH /v1/endpoints/other blocked",
			"POST /v1/keys blocked",
			"GET /v1/endpoints blocked",
			"GET /v2/other/openai/v1/models blocked",
		]);
		// A form needs no permission to send, and shows the answer: that one is a refusal.
		const [answer] = await Promise.all([
			page.waitForResponse((response) => response.url().endsWith("/v2/other/run")),
			page.evaluate(
				`{ const form = document.createElement("form"); form.method = "POST"; form.enctype ` +
					'= "text/plain"; form.target = "into"; ' +
					`form.action = ${JSON.stringify(`${here.service.url}/v2/other/run`)}; ` +
					`const field = document.createElement("input"); field.name = '{"input":{"a":"'; ` +
					`field.value = '"}}'; form.append(field); document.body.append(form); form.submit(); }`,
			),
		]);
		expect(answer.status()).toBe(401);
		expect((await Promise.all(cookies)).filter(Boolean).length).toBeGreaterThan(0);
		expect((await call(here.service.url, "/v1/endpoints")).text).toBe(before);
	});
});
