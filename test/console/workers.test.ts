/** The page of all workers, and what all tables do: cells without a value, short ids. */
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { NARROW, goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const here = site({
	settings: { webhooks: { allowPrivateNetworks: true } },
	endpoints: (place) => ({
		work: place.stage({ workersMax: 3, workersMin: 1 }),
		alone: { name: "Alone" },
	}),
});

describe.skipIf(noBrowser !== undefined)(titled("workers and tables"), () => {
	it("below the workers stands how many each endpoint has and may have, and that none has ended", async () => {
		await here.ended("work", { output: 1 });
		const page = await here.open({ at: "#/workers" });
		const row = (name: string) =>
			page.getByRole("table", { name: T.workers.limits }).getByRole("row", { name: new RegExp(`^${name}`) });
		const cells = (name: string): Promise<string[]> => row(name).getByRole("cell").allInnerTexts();
		await expect.poll(async () => (await cells("work")).slice(1, 6)).toEqual(["1 of 3", "0", "1", "1 min", "–"]);
		expect((await cells("Alone")).slice(1, 6)).toEqual(["0 attached", "0", "–", "–", "–"]);
		await page.getByText(T.ended.none).waitFor();
		await row("work").getByRole("link", { name: T.tabs.settings }).click();
		await page.getByLabel(T.settings.names.workersMax).first().waitFor();
	});

	it("a cell without a value is a dash in a table and left out of a card", async () => {
		await here.submit("alone", {});
		for (const at of ["#/workers", "#/endpoints/alone/requests", "#/overview"]) {
			const page = await here.open({ at });
			const none = page.locator("td.none");
			await none.first().waitFor();
			expect(new Set(await none.allInnerTexts())).toEqual(new Set(["–"]));
			await page.setViewportSize(NARROW);
			await none.first().waitFor({ state: "hidden" });
			expect(await page.locator("td").filter({ hasText: /^–$/, visible: true }).count(), at).toBe(0);
			expect(await page.locator("td:empty").filter({ visible: true }).count(), at).toBe(0);
		}
	});

	it("the id of a job has the same length in all lists", async () => {
		const id = await here.submit("alone", {}, { webhook: "http://127.0.0.1:1/" });
		const other = await here.submit("alone", {});
		const page = await here.open({ at: "#/endpoints/alone/requests" });
		await rowOf(page, tail(id))
			.getByText(`…${tail(id)}`, { exact: true })
			.waitFor();
		await goTo(page, `#/endpoints/alone/requests/${other}`);
		await press(page, T.compare.open);
		await page
			.getByRole("dialog")
			.getByText(`…${tail(id)}`, { exact: true })
			.waitFor();
		await page.keyboard.press("Escape");
		await goTo(page, `#/endpoints/alone/requests/${id}?with=${other}`);
		await page.getByRole("link", { name: `…${tail(id)}`, exact: true }).waitFor();
	});
});
