/** The documentation in a browser: as built, under its policy, also below the path of a proxy. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { startBrowser } from "../support/browser.ts";
import { pathProxy, type PathProxy } from "../support/path-proxy.ts";
import { KEY, startService, type TestService } from "../support/service.ts";
import { NARROW, WIDE, noBrowser, titled } from "./site.ts";

const BUILT = fileURLToPath(new URL("../../dist/docs/index.html", import.meta.url));

describe.skipIf(noBrowser !== undefined)(titled("documentation in a browser"), () => {
	let service: TestService;
	let proxy: PathProxy;
	const browser = startBrowser();
	beforeAll(async () => {
		service = await startService({ endpoints: { thumbnail: {} } });
		proxy = await pathProxy({ to: service.url, path: "/sluice" });
	});
	afterAll(async () => {
		await (await browser).close();
		proxy.close();
		await service.end();
	});

	/** A page that must neither log an error, unless it fits, nor ask anything of another host. */
	async function open({ onTestFinished }: TestContext, url: string, forgive = /^$/): Promise<Page> {
		const page = await (await browser).newPage({ viewport: WIDE });
		const faults: string[] = [];
		page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
		page.on("pageerror", (error) => faults.push(error.message));
		page.on("request", (request) => {
			if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(new URL(url).origin))
				faults.push(request.url());
		});
		onTestFinished(async () => {
			await page.close();
			expect(faults.filter((fault) => !forgive.test(fault))).toEqual([]);
		});
		await page.goto(url);
		return page;
	}

	describe.skipIf(!existsSync(BUILT))("the site", () => {
		it.for(["the service", "a proxy's path"])("D40: is read and searched at %s", async (where, test) => {
			const base = where === "the service" ? service.url : proxy.url;
			const page = await open(test, `${base}/docs`);
			await page.getByRole("link", { name: "The first hour" }).first().click();
			await page.getByRole("heading", { level: 1, name: "The first hour" }).waitFor();
			await page.getByRole("button", { name: "Search" }).click();
			await page.getByRole("textbox", { name: "Search" }).fill("lease of a lost worker");
			const found = page.locator(".pagefind-ui__result-link", { hasText: "lost jobs" }).first();
			// Results that arrive above move it between the press and the release of a button.
			await found.press("Enter");
			await page.waitForURL(/\/docs\/behaviour\/.*#leases-and-lost-jobs/);
			await page.getByRole("link", { name: "API", exact: true }).click();
			await page.getByRole("heading", { level: 1, name: "Sluice API" }).waitFor();
			expect(proxy.astray).toEqual([]);
		});

		it("shows the theme that the reader chose, diagrams too", async (test) => {
			const page = await open(test, `${service.url}/docs/architecture/`);
			await page.getByLabel("Select theme").first().selectOption("dark");
			expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
			const diagrams = page.locator('img[src*="diagrams/"]');
			expect(await diagrams.count()).toBe(2);
			await expect.poll(() => diagrams.locator("visible=true").count()).toBe(1);
			expect(await diagrams.locator("visible=true").getAttribute("src")).toContain("-dark");
		});

		it.for(["", "guides/first-hour/", "reference/config/", "behaviour/", "decisions/"])(
			"fits a phone: /docs/%s",
			async (path, test) => {
				const page = await open(test, `${service.url}/docs/${path}`);
				await page.setViewportSize(NARROW);
				const width = await page.evaluate("document.documentElement.scrollWidth");
				expect(width).toBe(NARROW.width);
			},
		);
	});

	it("the console links to it", async (test) => {
		const page = await open(test, `${proxy.url}/console/`, /status of 401/);
		await page.getByLabel(T.signIn.key).fill(KEY);
		await page.keyboard.press("Enter");
		await page.getByRole("link", { name: T.documentation }).click();
		await page.waitForURL(`${proxy.url}/docs/`);
	});

	describe("the API reference", () => {
		it("D2: has a search, and examples in the language that the reader chose", async (test) => {
			const page = await open(test, `${service.url}/docs/api/`);
			const count = await page.locator("main article").filter({ hasText: "idempotency_reused" }).count();
			expect(count).toBeGreaterThan(1);
			await page.keyboard.press("/");
			await page.keyboard.type("idempotency_reused");
			const articles = page.locator("main article:visible");
			await expect.poll(() => articles.count()).toBe(count);
			expect(await page.locator("nav li:visible").count()).toBe(count);
			await page.keyboard.type(" nonsense");
			await page.getByText("Nothing here has idempotency_reused and nonsense.").waitFor();
			await page.keyboard.press("Escape");
			await expect.poll(() => articles.count()).toBeGreaterThan(60);

			const example = page.locator("#run [data-language]:visible");
			expect(await example.innerText()).toContain("curl -s");
			await page.getByText("Python", { exact: true }).click();
			await expect.poll(() => example.innerText()).toContain("requests.post(");
			await page.reload();
			expect(await example.innerText()).toContain("requests.post(");
		});

		it("names the address it was opened at, and the endpoint asked for", async (test) => {
			const page = await open(test, `${service.url}/docs/api/?endpoint=mine`);
			const example = page.locator("#health [data-language]:visible");
			await expect.poll(() => example.innerText()).toContain(`curl -s "${service.url}/v2/mine/health"`);
			expect(await page.locator("#endpoint").inputValue()).toBe("mine");
			await page.goto(`${service.url}/docs/api/?endpoint=${encodeURIComponent('"><b>$(id)')}`);
			await expect.poll(() => example.innerText()).toContain(`"${service.url}/v2/thumbnail/health"`);
		});

		it("fits a phone", async (test) => {
			const page = await open(test, `${service.url}/docs/api/`);
			await page.setViewportSize(NARROW);
			const width = await page.evaluate("document.documentElement.scrollWidth");
			expect(width).toBe(NARROW.width);
		});
	});
});
