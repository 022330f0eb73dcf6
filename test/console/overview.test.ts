/** The overview and the charts of an endpoint in a real browser: ranges, reasons, zoom, changes. */
import { describe, expect, it } from "vitest";
import type { Metrics } from "../../console/src/client/shapes.ts";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { goTo, noBrowser, press, rowOf, site, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({
		work: place.stage(),
		held: { name: "Held" },
	}),
});

/** What a chart says, as assistive technology reads it. */
const valueOf = "aria-valuetext";

describe.skipIf(noBrowser !== undefined)(titled("overview and charts"), () => {
	it("a new service shows its first steps until a job has been completed", async () => {
		const page = await here.open({ at: "#/overview" });
		await page.getByRole("heading", { name: T.first.title }).waitFor();
		await page.getByText(T.first.own).waitFor();
		await page.getByRole("link", { name: /^Send a job to/ }).waitFor();
		await page.getByText(`curl ${here.service.url}/v2/`).waitFor();
		await page.getByText(T.first.listening).waitFor();
		await here.ended("work", {});
		await page.getByRole("heading", { name: T.first.title }).waitFor({ state: "detached" });
	});

	it("shows what happened in the chosen time, and what needs attention first", async () => {
		for (let n = 0; n < 5; n += 1) await here.ended("work", { fail: "no" });
		await call(here.service.url, "/v1/endpoints/held/pause", { method: "POST" });
		await here.submit("held", {});
		const page = await here.open({ at: "#/overview?span=15m" });
		const attention = page.locator(".attention");
		await attention.getByText(T.overview.pausedWith("1")).waitFor();
		const failing = attention.getByRole("link", { name: /of its jobs failed in 15 min/ });
		await failing.waitFor();
		await rowOf(page, "work").locator(".figure.bad", { hasText: "%" }).waitFor();
		await page.getByRole("radio", { name: T.charts.spans["7d"] }).click();
		expect(new URL(page.url()).hash).toBe("#/overview?span=7d");
		await page.getByText(T.overview.endedIn(T.charts.spans["7d"])).waitFor();
		await page.locator(".hero .chart .legend", { hasText: "work 6" }).waitFor();
		const causes = page.locator("section", { has: page.getByRole("heading", { name: T.overview.lastFailures }) });
		await causes.getByText(T.overview.failed("5"), { exact: false }).waitFor();
		expect(await causes.getByRole("link").getAttribute("href")).toContain("status=FAILED");
		await attention.getByRole("link", { name: /failed in 7 days/ }).click();
		expect(new URL(page.url()).hash).toBe("#/endpoints/work/requests?status=FAILED%2CTIMED_OUT");
		// A row leads to its endpoint.
		await page.goBack();
		await rowOf(page, "work").locator(".spark").click();
		await page.getByText(T.charts.coldStarts).first().waitFor();
	});

	it("charts are read by keyboard, all at the same moment, and zoomed by drag and by keyboard", async () => {
		const page = await here.open({ at: "#/endpoints/work/charts" });
		const [queue, delay] = [
			page.getByRole("slider", { name: T.charts.queue }),
			page.getByRole("slider", { name: T.charts.delay }),
		];
		await queue.focus();
		// The last minute is not over; another one may begin meanwhile.
		await expect
			.poll(async () => {
				await page.keyboard.press("End");
				return await queue.getAttribute(valueOf);
			})
			.toMatch(/^\d\d:\d\d, so far: In queue/);
		await page.keyboard.press("ArrowLeft");
		await expect.poll(() => queue.getAttribute(valueOf)).toMatch(/^\d\d:\d\d: In queue/);
		// The labels at the left have the same room in all, so that the same moment stands below itself.
		const lefts = (await page.evaluate(
			"[...document.querySelectorAll('.plot .u-over')].map((over) => over.offsetLeft)",
		)) as number[];
		expect([lefts.length, new Set(lefts).size]).toEqual([7, 1]);
		const moment = (await queue.getAttribute(valueOf))!.slice(0, 5);
		await expect.poll(() => delay.getAttribute(valueOf)).toContain(`${moment}: p50`);
		await page.keyboard.press("Home");
		await expect.poll(() => delay.getAttribute(valueOf)).not.toContain(moment);
		const { x, y, width, height } = (await queue.boundingBox())!;
		await page.mouse.move(x + width * 0.5, y + height / 2);
		await page.mouse.down();
		await page.mouse.move(x + width * 0.8, y + height / 2, { steps: 5 });
		await page.mouse.up();
		await expect.poll(() => new URL(page.url()).hash).toMatch(/\?from=\d+&to=\d+$/);
		const [from, to] = (/from=(\d+)&to=(\d+)/.exec(page.url()) ?? []).slice(1).map(Number);
		expect(to! - from!).toBeGreaterThan(10 * 60_000);
		expect(to! - from!).toBeLessThan(30 * 60_000);
		await press(page, T.charts.zoomIn);
		await expect.poll(() => page.url()).not.toContain(`from=${from}`);
		await page.getByRole("radio", { name: T.charts.spans["1h"] }).click();
		await expect.poll(() => new URL(page.url()).hash).toBe("#/endpoints/work/charts?span=1h");
	});

	it("a worker that was starting, busy and idle within a minute is drawn as one worker", async () => {
		const page = await here.open();
		await page.route("**/v1/endpoints/work/metrics?*", async (route) => {
			const response = await route.fetch();
			const metrics = (await response.json()) as Metrics;
			for (const name of ["workersBusy", "workersReady", "workersStarting"] as const)
				metrics.series[name] = metrics.series[name].map(() => 1);
			await route.fulfill({ response, json: metrics });
		});
		// Labels are drawn: there is no element to read them of.
		await page.evaluate(`{
			const { fillText } = CanvasRenderingContext2D.prototype;
			globalThis.drawn = {};
			CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
				const title = this.canvas.closest("figure").querySelector(".chart-title").textContent;
				(globalThis.drawn[title] ??= []).push(text);
				fillText.call(this, text, ...rest);
			};
		}`);
		await goTo(page, "#/endpoints/work/charts");
		const title = `${T.charts.workers} ${T.charts.perMinute}`;
		await expect
			.poll(async () => {
				const drawn = await page.evaluate<Record<string, string[]>>("globalThis.drawn");
				const counts = (drawn[title] ?? []).filter((text) => /^\d+$/.test(text)).map(Number);
				return Math.max(...counts);
			})
			.toBe(1);
	});

	it("a change of settings is listed with its key", async () => {
		await call(here.service.url, "/v1/endpoints/work", {
			method: "PATCH",
			body: { idleTimeout: 61 },
		});
		const page = await here.open({ at: "#/endpoints/work/charts" });
		const changes = page.locator(".changes li");
		await changes.first().getByText(T.audit.actions.updateEndpoint).waitFor();
		expect(await changes.count()).toBe(1);
		await changes.first().getByText(T.charts.by("SLUICE_API_KEY")).waitFor();
	});
});
