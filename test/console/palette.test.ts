/** Commands of the palette, with the keyboard alone. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const here = site({
	endpoints: () => ({
		first: { name: "First" },
		crashing: {
			launcher: { type: "process", command: [process.execPath, "-e", "process.exit(7)"] },
		},
	}),
});

/** Types in the palette, chooses the entry of this name, and runs it. */
async function command(page: Page, typed: string, name: string): Promise<void> {
	await page.keyboard.press("Control+k");
	await page.getByRole("dialog", { name: T.palette.title }).locator("input:focus").waitFor();
	await page.keyboard.type(typed);
	const item = page.getByRole("menuitem", { name, exact: true });
	await item.waitFor();
	const chosen = page.locator("[role=menuitem][data-focused]");
	for (let at = await chosen.textContent(); at !== name; at = await chosen.textContent()) {
		await page.keyboard.press("ArrowDown");
		await expect.poll(() => chosen.textContent()).not.toBe(at);
	}
	await page.keyboard.press("Enter");
}

const paused = async (): Promise<boolean> => (await call(here.service.url, "/v1/endpoints/first")).json.paused;

describe.skipIf(noBrowser !== undefined)(titled("commands of the palette"), () => {
	it("keys of every page: ? lists them, g and a letter lead to a page, j goes into its table", async () => {
		const page = await here.open({ at: "#/overview" });
		await page.locator(".endpoint-table").waitFor();
		await page.keyboard.press("?");
		const keys = page.getByRole("dialog", { name: T.shortcuts.title });
		await keys.getByText(T.pages.audit).waitFor();
		await page.keyboard.press("Escape");
		await keys.waitFor({ state: "detached" });
		await page.keyboard.press("j");
		await page.locator("tbody tr:first-child a:focus").waitFor();
		await page.keyboard.press("j");
		await page.locator("tbody tr:nth-child(2) a:focus").waitFor();
		await page.keyboard.press("g");
		await page.keyboard.press("k");
		await page.getByRole("heading", { name: T.pages.keys }).waitFor();
		// Where one types, they are letters.
		await page.keyboard.press("/");
		await page.keyboard.type("gw?");
		expect(await page.locator("input:focus").inputValue()).toBe("gw?");
	});

	it("a job is found by the end of its id, and by its text in the list of an endpoint", async () => {
		const id = await here.submit("first", { output: "a lighthouse" });
		const page = await here.open({ at: "#/webhooks" });
		await command(page, `…${tail(id)}`, T.palette.jobEnd(tail(id)));
		await page.locator(".job-id", { hasText: id }).waitFor();
		await command(page, "lighthouse", T.palette.searchJobs("First", "lighthouse"));
		await rowOf(page, tail(id)).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/first/requests?search=lighthouse");
		await command(page, "abcdef0", T.palette.jobEnd("abcdef0"));
		await page.getByText(T.palette.noJobEnd("abcdef0")).waitFor();
		await call(here.service.url, "/v2/first/purge-queue", { method: "POST" });
	});

	it("pause and resume an endpoint, from any page", async () => {
		const page = await here.open({ at: "#/webhooks" });
		await command(page, "pause first", T.palette.pause("First"));
		await expect.poll(paused).toBe(true);
		await page.getByText(T.endpoint.pausedNow).waitFor();
		await command(page, "first resume", T.palette.resume("First"));
		await expect.poll(paused).toBe(false);
	});

	it("purging asks first", async () => {
		await here.submit("first", {});
		const page = await here.open({ at: "#/audit" });
		await command(page, "purge", T.palette.purge("First"));
		await page.getByRole("dialog").getByText(T.endpoint.purgeText("1", "First")).waitFor();
		await press(page, T.endpoint.purge);
		await page.getByText(T.endpoint.purged("1")).waitFor();
	});

	it("workers that crash are started again", async () => {
		const failed = here.service.next("worker.failed");
		await here.submit("crashing", {});
		await failed;
		const page = await here.open();
		const resumed = here.service.next("starts.resumed");
		await command(page, "start now", T.palette.start("crashing"));
		await resumed;
		await page.getByText(T.ended.startsNow).waitFor();
	});

	it("an endpoint and a key are created, the theme is switched", async () => {
		const page = await here.open({ at: "#/webhooks" });
		await command(page, "create endpoint", T.newEndpoint.title);
		await page.getByRole("dialog", { name: T.newEndpoint.title }).waitFor();
		await page.getByLabel(T.newEndpoint.id, { exact: true }).waitFor();
		await page.keyboard.press("Escape");
		await command(page, "create key", T.keys.create);
		await page.getByRole("dialog", { name: T.keys.create }).waitFor();
		await page.keyboard.press("Escape");
		await page.getByRole("dialog").waitFor({ state: "detached" });
		await command(page, "dark", T.palette.theme(T.theme.dark));
		await expect.poll(() => page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
	});

	it("a key that may only read is offered nothing else", async () => {
		const { key } = await here.key(["read"]);
		const page = await here.open({ key });
		await page.keyboard.press("/");
		await page.getByRole("menuitem", { name: T.signOut }).waitFor();
		const names = await page.getByRole("menuitem").allTextContents();
		expect(names.filter((name) => /pause|purge|create|API keys/i.test(name))).toEqual([]);
		// One line for each endpoint until something is typed.
		expect(names.filter((name) => name.includes("First"))).toHaveLength(1);
	});
});
