/** Alerts on the overview in a real browser: what to do, and a silence that is made and ended (D53). */
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { noBrowser, site, titled } from "./site.ts";

const here = site({
	endpoints: () => ({ waits: {} }),
	settings: { alerts: { rules: { SluiceOldestWait: { threshold: 1, for: 0 } } } },
});

const alertsAt = async () => (await call(here.service.url, "/v1/alerts")).json;

describe.skipIf(noBrowser !== undefined)(titled("alerts"), () => {
	it("an alert has its runbook, is silenced for its endpoint, and the silence is ended", async () => {
		await here.submit("waits", {});
		await until("it fires", async () => (await alertsAt()).alerts.length > 0);
		const page = await here.open({ at: "#/overview" });
		const card = page.locator("section", { has: page.getByRole("heading", { name: T.alerts.title }) });
		await card.getByText("A job of waits has waited for").waitFor();
		expect(await card.getByRole("link", { name: T.alerts.runbook }).getAttribute("href")).toBe(
			`${here.service.url}/docs/runbooks/oldest-wait/`,
		);
		await card.getByRole("button", { name: T.alerts.silence }).click();
		await card.getByText(T.alerts.silenced).waitFor();
		expect((await alertsAt()).silences).toMatchObject([{ name: "SluiceOldestWait", endpoint: "waits" }]);
		await card.getByRole("button", { name: T.alerts.end }).click();
		await card.getByRole("button", { name: T.alerts.silence }).waitFor();
		expect((await alertsAt()).silences).toEqual([]);
	});

	it("a key that only reads sees them without the button", async () => {
		const { key } = await here.key(["read"]);
		const page = await here.open({ at: "#/overview", key });
		const card = page.locator("section", { has: page.getByRole("heading", { name: T.alerts.title }) });
		await card.getByText("A job of waits has waited for").waitFor();
		expect(await card.getByRole("button").count()).toBe(0);
	});
});
