/** The console's pages of the service: lines of all logs, health of the server; the trace of a job. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { noBrowser, site, titled } from "./site.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

/** Writes 1,200 lines and stays. */
const LOUD = `
	for (let n = 0; n < 1200; n++) console.log("many " + String(n).padStart(4, "0"));
	setInterval(() => {}, 1e6);
`;

const here = site({
	endpoints: ({ stage }) => ({
		...{ one: stage({ workersMin: 1 }), two: stage(), three: {} },
		loud: { workersMin: 1, workersMax: 1, launcher: { type: "process", command: [process.execPath, "-e", LOUD] } },
	}),
	settings: {
		log: { access: "on" },
		console: { traceUrl: "https://jaeger.example/trace/{traceId}" },
	},
});

const made = { one: "", two: "", traced: "" };

beforeAll(async () => {
	if (noBrowser !== undefined) return;
	// Its lines are older than those of the others, which are among the last 500 then.
	const loud = async () => (await call(here.service.url, "/v1/endpoints/loud/logs?search=many%201199")).json.lines;
	await until("the lines of loud", async () => (await loud()).length === 1);
	made.one = await here.ended("one", { log: "alpha of one" });
	made.two = await here.ended("two", { log: "beta of two" });
	const headers = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, "x-request-id": "request-of-the-test" };
	const { json } = await call(here.service.url, "/v2/one/runsync?wait=20000", { body: { input: {} }, headers });
	made.traced = json.id;
});

/** The texts of the lines, without their times. */
const shown = (page: Page): Promise<string[]> => page.locator(".log-line > span:last-child").allInnerTexts();
const box = (page: Page) => page.getByRole("log", { name: T.logs.box });

describe.skipIf(noBrowser !== undefined)(titled("the service in the console"), () => {
	it("D51: lines of workers and of the service on one page, by time, with links to workers and jobs", async () => {
		const page = await here.open({ at: "#/logs" });
		await box(page).getByText("alpha of one").waitFor();
		await box(page).getByText("beta of two").waitFor();
		const lines = await shown(page);
		const places = ["alpha of one", "beta of two"].map((text) => lines.findIndex((line) => line.includes(text)));
		expect(places[0]).toBeGreaterThan(-1);
		expect(places[1]).toBeGreaterThan(places[0]!);
		expect(lines.some((line) => line.startsWith("POST /v2/"))).toBe(true);
		const times = await page.locator(".log-line > time").evaluateAll((all) => all.map((time) => time.dateTime));
		expect(times).toEqual(times.toSorted((a, b) => (a < b ? -1 : 1)));
		const alpha = page.locator(".log-line", { hasText: "alpha of one" });
		expect(await alpha.getByRole("link").first().getAttribute("href")).toMatch(/#\/endpoints\/one\/workers\/one-/);
		await alpha.getByTitle(made.one).click();
		await page.getByText(T.job.timeline).waitFor();
		expect(page.url()).toContain(`/one/requests/${made.one}`);
	});

	it("D51: filters by text, level, endpoint, log and id", async () => {
		const page = await here.open({ at: "#/logs" });
		await page.getByLabel(T.logs.search).fill("OF TWO");
		// The lines without the filter may come first, and go before those with it are there.
		await expect.poll(() => shown(page)).toEqual(["beta of two"]);
		await page.getByLabel(T.logs.search).fill("");
		await page.getByLabel(T.logs.id).fill("request-of-the-test");
		await expect.poll(() => shown(page)).toEqual([expect.stringContaining("requestId=request-of-the-test")]);
		await page.locator(".log-line").getByTitle(made.traced).click();
		await page.getByText(T.job.timeline).waitFor();
		await page.goto(`${here.service.url}/console/#/logs?lines=service&level=warn`);
		await box(page).getByText(T.logs.none).waitFor();
		await page.goto(`${here.service.url}/console/#/logs?endpoint=one&lines=workers&id=${made.one}`);
		await box(page).getByText("alpha of one").waitFor();
		expect(await shown(page)).not.toContain("beta of two");
	});

	it("D51: new lines come while it is live, and not when it is not", async () => {
		const page = await here.open({ at: "#/logs?endpoint=two" });
		await box(page).getByText("beta of two").waitFor();
		await here.ended("two", { log: "a line that came" });
		await box(page).getByText("a line that came").first().waitFor();
		await page.clock.install();
		await page.reload();
		await box(page).getByText("a line that came").first().waitFor();
		await page.getByText(T.logs.live, { exact: true }).last().click();
		// One read may have been due.
		await page.clock.runFor(5000);
		const reads: string[] = [];
		page.on("request", (request) => reads.push(request.url()));
		await page.clock.runFor(20_000);
		expect(reads.filter((url) => url.includes("/logs"))).toEqual([]);
		await page.getByText(T.logs.live, { exact: true }).last().click();
		const read = page.waitForRequest((request) => request.url().includes("/logs"));
		await page.clock.runFor(20_000);
		await read;
	});

	it("D47: a search that takes longer than the pause between two reads is not broken off", async () => {
		const page = await here.open({ at: "#/server" });
		const [held, failed]: [(() => void)[], string[]] = [[], []];
		await page.route(/\/v1\/endpoints\/two\/logs/, async (route) => {
			await new Promise<void>((resolve) => held.push(resolve));
			await route.continue();
		});
		page.on("requestfailed", (request) => failed.push(request.url()));
		await page.clock.install();
		const asked = page.waitForRequest(/\/v1\/endpoints\/two\/logs/);
		await page.goto(`${here.service.url}/console/#/logs?endpoint=two&lines=workers`);
		await asked;
		await page.clock.runFor(20_000);
		expect([held.length, failed]).toEqual([1, []]);
		held[0]!();
		await box(page).getByText("beta of two").waitFor();
		// What changed meanwhile is read after it.
		await page.clock.runFor(20_000);
		await expect.poll(() => held.length).toBe(2);
	});

	it("D47: older lines are loaded in front of those that are shown, which stay where they are", async () => {
		const many = Array.from({ length: 1200 }, (_, n) => `many ${String(n).padStart(4, "0")}`);
		const page = await here.open({ at: "#/logs?endpoint=loud&lines=workers&search=many" });
		await box(page).getByText("many 1199").waitFor();
		expect(await shown(page)).toEqual(many.slice(-500));
		await box(page).evaluate((element) => (element.scrollTop = 0));
		const first = page.getByText("many 0700", { exact: true });
		const top = async (): Promise<number> => (await first.boundingBox())!.y;
		const stood = await top();
		await page.getByRole("button", { name: T.logs.older }).click();
		await page.getByText("many 0200", { exact: true }).waitFor({ state: "attached" });
		expect(Math.abs((await top()) - stood)).toBeLessThan(30);
		await page.getByRole("button", { name: T.logs.older }).click();
		await page.getByText("many 0000", { exact: true }).waitFor({ state: "attached" });
		expect(await shown(page)).toEqual(many);
		await page.getByRole("button", { name: T.logs.older }).waitFor({ state: "detached" });
	});

	it("D40: the server's page: store, budgets, roles, open requests; no problem", async () => {
		const page = await here.open({ at: "#/server" });
		await page.getByText(T.server.good).waitFor();
		const store = page.getByRole("region", { name: T.server.store });
		await store.getByText("SQLite").waitFor();
		await store.getByText(T.server.up).waitFor();
		expect(await store.innerText()).toMatch(/Commits, p50 and p99\s+[\d.]+ m?s, [\d.]+ m?s/);
		expect(await store.innerText()).toMatch(/Database file\s+[\d.]+ [kM]B/);
		const budgets = page.getByRole("table", { name: T.server.budgets });
		expect(await budgets.getByRole("row", { name: "Connections" }).innerText()).toMatch(/\d+\s+10,000\s+–/);
		const servers = page.getByRole("table", { name: T.server.servers });
		expect(await servers.innerText()).toMatch(/retention, removal of endpoints, webhooks, scaling of 4 endpoints/);
		await page.getByRole("region", { name: T.server.requests }).getByText("jobTakeBatch", { exact: true }).waitFor();
	});

	it("D40: what is wrong is said with its bound, and leads to what to do", async () => {
		const page = await here.open({ at: "#/overview" });
		await page.route("**/metrics", async (route) => {
			const answer = await route.fetch();
			const body = (await answer.text()).replace(/^(sluice_store_disk_free_bytes) .*$/m, "$1 500000000");
			await route.fulfill({
				response: answer,
				body: body.replace(/^(sluice_budget_limit\{budget="reservedDisk"\}) .*$/m, "$1 268435456"),
			});
		});
		await page.goto(`${here.service.url}/console/#/server`);
		const problems = page.getByRole("alert");
		await problems.getByText("500 MB of the disk are free, less than 4 times the reserve of 268.4 MB").waitFor();
		expect(await problems.getByRole("link").getAttribute("href")).toBe("../docs/runbooks/disk-almost-full/");
	});

	it("D30: only administrators see both pages", async () => {
		const { key } = await here.key(["read"]);
		const page = await here.open({ key, at: "#/server", forgive: /401|403/ });
		await page.getByText(T.server.mayNot).waitFor();
		await page.goto(`${here.service.url}/console/#/logs`);
		await page.getByText(T.logs.mayNot).waitFor();
		expect(await page.getByRole("link", { name: T.pages.logs, exact: true }).count()).toBe(0);
	});

	it("D52: a job has its trace, with a link by the configuration; without tracing it has none", async () => {
		const page = await here.open({ at: `#/endpoints/one/requests/${made.traced}` });
		await page.getByText(TRACE).waitFor();
		const link = page.getByRole("link", { name: T.job.openTrace("jaeger.example") });
		expect(await link.getAttribute("href")).toBe(`https://jaeger.example/trace/${TRACE}`);
		expect(await link.getAttribute("rel")).toContain("noopener");
		await page.getByText(T.job.facts).last().click();
		expect(await page.getByRole("link", { name: "request-of-the-test" }).getAttribute("href")).toBe(
			"#/logs?id=request-of-the-test&lines=service",
		);
		const { json } = await call(here.service.url, `/v1/endpoints/one/jobs/${made.one}`);
		expect(json).not.toHaveProperty("trace");
	});
});
