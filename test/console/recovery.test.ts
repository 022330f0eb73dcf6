/** Pages of the console while the service is killed, and once it runs again. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { site as machine } from "../e2e/site.ts";
import { call } from "../support/service.ts";
import { goTo, noBrowser, site, tail, titled } from "./site.ts";

const here = site({ endpoints: () => ({}) });

/** Pages, and what shows that they are loaded. */
const PAGES = (job: string): readonly [string, string][] => [
	["#/overview", "hello"],
	["#/endpoints/hello/charts", T.charts.coldStarts],
	["#/endpoints/hello/requests", tail(job)],
	[`#/endpoints/hello/requests/${job}`, T.job.timeline],
	["#/endpoints/hello/try", T.try.nothing],
	["#/endpoints/hello/workers", T.workers.none],
	["#/endpoints/hello/connect", T.connect.clients],
	["#/endpoints/hello/settings", T.settings.delete],
	["#/workers", T.workers.none],
	["#/webhooks", T.webhooks.none],
	["#/keys", T.sessions.current],
	["#/audit", T.audit.ok],
];

describe.skipIf(noBrowser !== undefined)(titled("an outage of the service"), () => {
	it("every page that was opened during it loads once the service runs again", {
		timeout: 120_000,
	}, async (test) => {
		const place = machine(test);
		let service = await place.serve({ endpoints: { hello: {} } });
		const sent = await call(service.url, "/v2/hello/run", { body: { input: {} } });
		const id = sent.json.id as string;
		const tabs: { page: Page; hash: string; ready: string }[] = [];
		for (const [hash, ready] of PAGES(id)) {
			const page = await here.open({
				base: service.url,
				at: "#/endpoints/hello/connect",
				forgive: /ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|ERR_NETWORK|status of 50|Failed to fetch dynamically/,
			});
			await page.getByText(T.connect.clients).waitFor();
			tabs.push({ page, hash, ready });
		}
		await service.end("SIGKILL");
		for (const { page, hash } of tabs) {
			await page.getByText(T.notLive).first().waitFor();
			await goTo(page, hash);
		}
		const [first] = tabs;
		await first!.page.getByRole("heading", { name: T.pages.overview }).waitFor();
		service = await place.serve();
		for (const { page, hash, ready } of tabs) {
			await page.locator("main").getByText(ready, { exact: false }).first().waitFor();
			await expect.poll(() => page.getByText(T.offline).count(), { message: hash, timeout: 20_000 }).toBe(0);
			await page.getByText(T.live, { exact: true }).first().waitFor({ state: "attached" });
		}
	});
});
