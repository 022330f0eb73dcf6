/**
 * What a new user comes for, from the overview on, with nothing but the menu, the console's links and
 * the documentation's search. Each task has a bound of presses and of pages, so that a change that
 * makes the way longer is seen.
 */
import type { Locator, Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { noBrowser, site, titled } from "./site.ts";

const DOCS = fileURLToPath(new URL("../../dist/docs/index.html", import.meta.url));

const here = site({
	settings: { webhooks: { allowPrivateNetworks: true } },
	endpoints: (place) => ({
		work: place.stage({ name: "Images", idleTimeout: 600 }),
		chat: place.stage({ name: "Chat" }),
	}),
});

interface Way {
	page: Page;
	press(what: Locator): Promise<void>;
	/** Pages that were opened, and presses so far. */
	length(): { pages: number; presses: number };
}

const ways: Record<string, ReturnType<Way["length"]>> = {};

async function way(at = "#/overview"): Promise<Way> {
	const page = await here.open({ at });
	let presses = 0;
	const pages = new Set<string>();
	page.on("framenavigated", (frame) => pages.add(frame.url().replace(/\?.*$/, "")));
	return {
		page,
		press: async (what) => {
			presses += 1;
			await what.click();
		},
		length: () => ({ pages: pages.size, presses }),
	};
}

const link = (page: Page, name: string | RegExp): Locator => page.getByRole("link", { name }).first();
const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name, exact: true }).last();

describe.skipIf(noBrowser !== undefined)(titled("five tasks of a new user"), () => {
	afterAll(() => console.log(`ways: ${JSON.stringify(ways)}`));

	it("find why jobs fail, and retry them", async () => {
		for (let n = 0; n < 3; n += 1) await here.ended("work", { fail: "CUDA out of memory" });
		const { page, press, length } = await way();
		await press(page.locator(".facts-list").getByRole("link", { name: /CUDA out of memory/ }));
		await press(page.getByRole("button", { name: /^Retry 3: .*CUDA out of memory/ }));
		await press(page.getByRole("dialog").getByRole("button", { name: /^Retry/ }));
		await page.getByText(T.bulk.retry.done("3")).waitFor();
		ways["retry failed jobs"] = length();
		expect(length()).toEqual({ pages: 1, presses: 3 });
	});

	it.skipIf(!existsSync(DOCS))("move an image from RunPod", async () => {
		const { page, press, length } = await way();
		await press(link(page, T.documentation));
		await press(page.getByRole("button", { name: "Search" }));
		await page.getByRole("textbox", { name: "Search" }).fill("move from runpod");
		const first = page.locator(".pagefind-ui__result-link").first();
		await first.waitFor();
		expect(await first.innerText()).toContain("Move from RunPod");
		await press(first);
		await page.getByText("sluice endpoints create").first().waitFor();
		ways["move an image from RunPod"] = length();
		expect(length().presses).toBeLessThanOrEqual(3);
	});

	it("add a webhook, and see it fail", async () => {
		const { page, press, length } = await way("#/endpoints/work/try");
		await press(button(page, T.try.options));
		await page.getByLabel(T.job.webhook).fill("http://127.0.0.1:9/done");
		await press(button(page, T.try.send));
		await press(link(page, T.pages.webhooks));
		await page.getByText("127.0.0.1:9").first().waitFor();
		await page
			.getByText(/the connection was refused/)
			.first()
			.waitFor();
		ways["see a webhook fail"] = length();
		expect(length().presses).toBe(3);
	});

	it("free a GPU: stop an idle worker", async () => {
		await here.ended("work", {});
		const { page, press, length } = await way();
		await press(link(page, T.pages.workers));
		await press(page.getByRole("button", { name: T.workers.stop }).first());
		await press(page.getByRole("dialog").getByRole("button", { name: T.workers.stop }));
		await page.getByText(T.workers.stopped).waitFor();
		ways["stop a worker"] = length();
		expect(length()).toEqual({ pages: 1, presses: 3 });
	});

	it("make a key for one endpoint", async () => {
		const { page, press, length } = await way();
		await press(link(page, T.pages.keys));
		await press(button(page, T.keys.create));
		await page.getByLabel(T.keys.name, { exact: true }).fill("web shop");
		await press(page.getByRole("dialog").getByText("Images"));
		await press(page.getByRole("dialog").getByRole("button", { name: T.keys.create }));
		const key = await page.getByRole("dialog").locator("code").first().innerText();
		const asked = (endpoint: string) => call(here.service.url, `/v2/${endpoint}/health`, { key });
		expect([(await asked("work")).status, (await asked("chat")).status]).toEqual([200, 401]);
		ways["make a key for one endpoint"] = length();
		expect(length()).toEqual({ pages: 1, presses: 4 });
	});
});
