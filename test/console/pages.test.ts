/**
 * What every page of the console keeps: no barrier that axe knows, both themes, 360 px, the
 * keyboard, a path behind a proxy, silence while the page is hidden.
 */
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { IN_FIREFOX } from "../support/firefox.ts";
import { KEY, call } from "../support/service.ts";
import { pathProxy, type PathProxy } from "../support/path-proxy.ts";
import { type Made, tour } from "./page-tour.ts";
import { NARROW, WIDE, goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({
		work: place.stage({ name: "Works" }),
		waiting: { name: "Waits", webhooks: { schedule: [] } },
		// Its newest job decides how it is tried: that of others is JSON.
		talk: place.stage(),
		broken: {
			launcher: {
				type: "process",
				command: [process.execPath, "-e", "console.log('the last line'); process.exit(7)"],
			},
		},
	}),
	settings: {
		webhooks: { allowPrivateNetworks: true },
		hosts: {
			rig1: {
				docker: "tcp://127.0.0.1:1",
				insecure: true,
				workerUrl: "http://127.0.0.1:9",
				labels: ["small"],
				gpus: [{ id: "GPU-0a", model: "NVIDIA L4", memoryGb: 24.2 }],
			},
		},
	},
});

const made: Made = { good: "", bad: "", waits: "", runs: "", crashes: "", worker: "" };

beforeAll(async () => {
	if (noBrowser !== undefined) return;
	made.bad = await here.ended("work", { log: "a line", fail: "broken" });
	made.good = await here.ended("work", { chunks: ["a ", "b"], log: "another line" });
	made.runs = await here.submit("work", { until: "never", log: "a third line" });
	const crashed = here.service.next("worker.failed");
	made.crashes = await here.submit("broken", {});
	await crashed;
	made.waits = await here.submit(
		"waiting",
		{
			output: {
				list: Array.from({ length: 120 }, (_, index) => ({ index, text: "x".repeat(60) })),
			},
		},
		{ webhook: "http://127.0.0.1:1/" },
	);
	const over = here.service.next("webhook.failed", ({ retryMs }) => retryMs === undefined);
	await call(
		here.service.url,
		`/v2/waiting/cancel/${await here.submit("waiting", {}, { webhook: "http://127.0.0.1:1/" })}`,
		{ method: "POST" },
	);
	await over;
	await here.key(["write"], ["waiting"]);
	await call(here.service.url, "/console/session", { body: { key: KEY } });
	made.worker = (await call(here.service.url, "/v1/endpoints/work/workers")).json.workers[0].id;
});

/** Stops of the tour that are lists. */
const LISTS = ["overview", "requests", "workers", "webhooks", "keys", "audit"];

/** Rules of axe about colours. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

/** What axe finds, as sentences; with these rules only, if there are any. */
async function barriers(page: Page, only?: readonly string[]): Promise<string[]> {
	// Firefox 153 ends the page's process while axe runs.
	if (IN_FIREFOX) return [];
	if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
	// The list under the search field is walked and scrolled by the arrow keys of the field, which
	// keeps the focus. Announcements of buttons that wait are removed seconds after they were read.
	const options = {
		resultTypes: ["violations"],
		...(only === undefined ? {} : { runOnly: only }),
	};
	const { violations } = (await page.evaluate(
		`axe.run({ exclude: ['.palette-list', '[data-live-announcer]'] }, ${JSON.stringify(options)})`,
	)) as AxeResults;
	return violations.flatMap(({ id, nodes }) =>
		nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
	);
}

/** As `rgb(...)`. */
async function backgroundOf(page: Page): Promise<string> {
	return await page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor");
}

/** Elements that reach beyond the page at its right. */
async function tooWide(page: Page): Promise<string[]> {
	return await page.evaluate<string[]>(
		"document.documentElement.scrollWidth > innerWidth ? [`${document.documentElement.scrollWidth} " +
			"px`, ...[...document.querySelectorAll('body *')].filter((each) => each.getBoundingClientRect().right " +
			"> innerWidth + 1).slice(0, 5).map((each) => each.outerHTML.slice(0, 150))] : []",
	);
}

describe.skipIf(noBrowser !== undefined)(titled("pages of the console"), () => {
	it("axe finds no violation on any page, in both themes, wide and at 360 px, where nothing scrolls sideways", {
		timeout: 180_000,
	}, async () => {
		const page = await here.open();
		const show = (colorScheme: "light" | "dark"): Promise<void> =>
			page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
		const found: Record<string, string[]> = {};
		for (const { name, at, ready, before, after } of tour(made)) {
			await show("light");
			await goTo(page, at());
			await page.locator("main").getByText(ready(), { exact: false }).first().waitFor();
			await before?.(page);
			const all = await barriers(page);
			await show("dark");
			// Themes differ in colours alone.
			all.push(...(await barriers(page, OF_COLOURS)));
			await page.setViewportSize(NARROW);
			all.push(...(await barriers(page)));
			// Charts follow the width of the page in the next frame.
			await expect.poll(() => tooWide(page), { message: name }).toEqual([]);
			if (all.length > 0) found[name] = all;
			await page.setViewportSize(WIDE);
			await after?.(page);
		}
		expect(found).toEqual({});
	});

	it("all rows of a list have one height: of one line or of two", async () => {
		const page = await here.open();
		const found: Record<string, number[]> = {};
		for (const { name, at, ready } of tour(made).filter((stop) => LISTS.includes(stop.name))) {
			await goTo(page, at());
			await page.locator("main").getByText(ready(), { exact: false }).first().waitFor();
			found[name] = await page.evaluate<number[]>(
				"[...new Set([...document.querySelectorAll('main .table tbody tr')]" +
					".filter((row) => !row.querySelector('.how')).map((row) => Math.round(row.getBoundingClientRect().height)))]",
			);
		}
		const [one, two] = [[40], [52]];
		expect(found).toEqual({
			overview: one,
			requests: one,
			workers: expect.arrayContaining([...one, ...two]),
			webhooks: two,
			keys: one,
			audit: one,
		});
		expect(
			Object.values(found)
				.flat()
				.filter((height) => height !== 40 && height !== 52),
		).toEqual([]);
	});

	it("on a phone the error of a job stands below its title", async () => {
		const bad = await here.ended("talk", { fail: "broken" });
		const page = await here.open({ at: "#/endpoints/talk/requests", width: NARROW });
		const row = rowOf(page, tail(bad));
		const [title, error] = [row.locator(".job-title"), row.locator(".line.bad")];
		await error.waitFor();
		const [above, below] = [(await title.boundingBox())!, (await error.boundingBox())!];
		expect([below.height > 12, below.y >= above.y + above.height]).toEqual([true, true]);
	});

	it.each(["light", "dark"] as const)("axe finds no violation where one signs in, %s", async (colorScheme) => {
		const page = await here.open({ key: null, width: NARROW, forgive: /status of 401/ });
		await page.emulateMedia({ colorScheme });
		await page.getByLabel(T.signIn.key).waitFor();
		expect([...(await barriers(page)), ...(await tooWide(page))]).toEqual([]);
	});

	it("the switch of colours is remembered, and goes before the system", async () => {
		const page = await here.open();
		await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
		const light = await backgroundOf(page);
		await press(page, T.theme.dark);
		const dark = await backgroundOf(page);
		expect(dark).not.toBe(light);
		await page.reload();
		await page.getByText(T.live, { exact: true }).waitFor();
		expect(await backgroundOf(page)).toBe(dark);
		await press(page, T.theme.system);
		expect(await backgroundOf(page)).toBe(light);
	});

	it("on a phone the menu covers the window, however far the page is scrolled", async () => {
		const page = await here.open({ at: "#/endpoints/work/settings", width: NARROW });
		await page.getByText(T.settings.deleteText).first().waitFor();
		await page.evaluate("scrollTo(0, 600)");
		await press(page, T.menu.open);
		const link = page.getByRole("navigation", { name: T.menu.pages }).getByRole("link", { name: T.pages.webhooks });
		const { y } = (await link.boundingBox())!;
		expect([y > 0, y < NARROW.height]).toEqual([true, true]);
		await link.click();
		await page.getByRole("heading", { name: T.pages.webhooks }).waitFor();
	});

	it("with the keyboard alone one searches, jumps to an endpoint, submits a job and opens it", async () => {
		const page = await here.open();
		const search = page.getByRole("dialog", { name: T.palette.title }).locator("input:focus");
		await page.keyboard.press("/");
		await search.waitFor();
		await page.keyboard.type("waits try");
		const chosen = page.locator("[role=menuitem][data-focused]");
		await chosen.getByText("Waits (waiting): Try it").waitFor();
		await page.keyboard.press("Enter");
		await page.getByText(T.try.nothing).waitFor();
		await page.getByLabel(T.try.input).focus();
		await page.keyboard.press("Control+a");
		await page.keyboard.type('{"by": "keyboard"}');
		await page.keyboard.press("Control+Enter");
		const link = page.getByRole("region", { name: T.try.result }).getByRole("link");
		const id = (await link.getAttribute("title"))!;
		// A whole id finds its job from anywhere.
		await page.keyboard.press("Control+k");
		await search.waitFor();
		await page.keyboard.type(id);
		await chosen.getByText(id).waitFor();
		await page.keyboard.press("Enter");
		await page.locator(".job-id", { hasText: id }).waitFor();
		// Rows of a table are walked with j and k; what has the focus can be seen.
		await goTo(page, "#/endpoints/waiting/requests");
		await rowOf(page, tail(id)).getByRole("link").first().focus();
		await page.keyboard.press("j");
		const focus = (await page.evaluate(
			"({ text: document.activeElement.title, outline: getComputedStyle(document.activeElement).outlineStyle })",
		)) as { text: string; outline: string };
		expect(focus).toEqual({ text: expect.not.stringContaining(id), outline: "solid" });
		await page.keyboard.press("Enter");
		await page.locator(".job-id", { hasText: focus.text }).waitFor();
	});

	it.each(Object.entries(T.tabs))(
		"the page %s of an endpoint is shown where Chrome runs with LANG=C",
		async (path, name) => {
			const page = await here.open({ language: "en-US@posix", at: `#/endpoints/work/${path}` });
			await page.locator("nav.tabs [aria-current=page]", { hasText: name }).waitFor();
			if (path === "charts") await page.locator(".chart canvas").first().waitFor();
			expect(await page.getByText(T.broken).count()).toBe(0);
		},
	);

	it("a page whose code fails says what failed and what to do; the pages beside it are shown", async () => {
		// Firefox says only the kind of an error that React reports.
		const page = await here.open({ forgive: /planted|^said Error$/ });
		await page.route(/\/charts-[^/]+\.js$/, (route) =>
			route.fulfill({ contentType: "text/javascript", body: 'throw new RangeError("planted")' }),
		);
		await goTo(page, "#/endpoints/work/charts");
		await page.getByText(T.broken).waitFor();
		await page.getByText("RangeError: planted").waitFor();
		await page.getByText(T.brokenNext).waitFor();
		await page.getByRole("link", { name: T.tabs.connect }).click();
		await page.getByText(T.connect.clients).waitFor();
	});

	it("the menu has room for its search whatever font the browser has", async () => {
		const page = await here.open();
		const beyond = await page.evaluate(`{
			const jump = document.querySelector(".jump");
			jump.style.letterSpacing = "3px";
			const menu = document.querySelector(".top").getBoundingClientRect();
			jump.getBoundingClientRect().right - menu.right;
		}`);
		expect(beyond).toBeLessThan(0);
	});

	it("the first key Tab finds leads past the menu", async () => {
		const page = await here.open();
		await page.keyboard.press("Tab");
		expect(await page.evaluate("document.activeElement.textContent")).toBe(T.skip);
		await page.keyboard.press("Enter");
		expect(await page.evaluate("document.activeElement.id")).toBe("main");
	});

	describe("behind a proxy, below a path", () => {
		let proxy: PathProxy;
		beforeAll(async () => {
			proxy = await pathProxy({ to: here.service.url, path: "/tools/sluice" });
			return () => proxy.close();
		});

		it("everything works: signing in, the feed, calls, the addresses that it shows", async () => {
			const page = await here.open({ base: proxy.url });
			await page.getByRole("link", { name: "Works" }).first().click();
			await page.getByText(T.charts.coldStarts).first().waitFor();
			await page.getByRole("link", { name: T.tabs.connect }).click();
			await page.getByText(`${proxy.url}/v2/work/runsync`).waitFor();
			await page.getByRole("link", { name: T.tabs.try }).click();
			await page.getByLabel(T.try.input).fill('{"output": "by the proxy"}');
			await press(page, T.try.send);
			await page.getByRole("region", { name: T.try.result }).getByText("by the proxy").waitFor();
			await page.reload();
			await page.getByLabel(T.try.input).waitFor();
			expect(proxy.astray).toEqual([]);
		});

		it("a page has one feed; a hidden tab has none, and no other open call, until it is seen again", async () => {
			const page = await here.open({
				base: proxy.url,
				at: `#/endpoints/work/requests/${made.runs}`,
			});
			const feeds = (): string[] => proxy.open().filter((path) => path.startsWith("/v1/feed"));
			await page.getByRole("log").getByText("a third line").waitFor();
			await page.getByText(T.stream.waiting).waitFor();
			expect(feeds()).toHaveLength(1);
			expect(proxy.open().length).toBeGreaterThan(1);
			await setHidden(page, true);
			await expect.poll(() => proxy.open()).toEqual([]);
			await setHidden(page, false);
			await expect.poll(feeds).toHaveLength(1);
			await page.getByRole("log").getByText("a third line").waitFor();
		});
	});

	it("an installation without endpoints says what to do next", async () => {
		// The feed of this page has none, as that of a fresh service does.
		const { key } = await here.key(["read"], ["deleted"]);
		const page = await here.open({ key });
		await page.getByText(T.first.title).waitFor();
	});
});

/** The browser has no call for this without a window: the page gets the event of one. */
async function setHidden(page: Page, hidden: boolean): Promise<void> {
	await page.evaluate(
		`Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} ` +
			`}); Object.defineProperty(document, "visibilityState", { configurable: true, value: ` +
			`"${hidden ? "hidden" : "visible"}" }); document.dispatchEvent(new Event("visibilitychange"))`,
	);
}
