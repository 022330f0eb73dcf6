/** Pictures that jobs take and return, in a real browser: in lists, compared, and in tables on a phone. */
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
// @ts-expect-error A starter is plain JavaScript.
import { png } from "../../starters/image/png.js";
import { NARROW, goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({
		pictures: place.stage(),
		texts: place.stage(),
		compared: place.stage(),
		sized: place.stage(),
	}),
});

function picture(side: number, grey: number): string {
	const pixels = Buffer.alloc(side * side * 3, grey);
	return `data:image/png;base64,${png({ width: side, height: side, pixels }).toString("base64")}`;
}

const leftOf = async (element: Locator): Promise<number> => (await element.boundingBox())!.x;
const pageOverflows = (page: Page): Promise<boolean> =>
	page.evaluate("document.documentElement.scrollWidth > innerWidth");

describe.skipIf(noBrowser !== undefined)(titled("pictures of jobs"), () => {
	it("a row has room for its picture before that has come, and does not move then", async () => {
		const id = await here.ended("pictures", { output: { image: picture(8, 120) } });
		const failed = await here.ended("pictures", { fail: "no picture" });
		const page = await here.open();
		const held = Promise.withResolvers<void>();
		await page.route("**/v2/pictures/status/**", async (route) => {
			await held.promise;
			await route.continue();
		});
		await goTo(page, "#/endpoints/pictures/requests");
		const row = rowOf(page, tail(id));
		const title = row.locator(".job-title");
		await row.locator(".thumbnail").waitFor();
		const before = await leftOf(title);
		held.resolve();
		await row.locator("img.thumbnail").waitFor();
		expect(await leftOf(title)).toBe(before);
		expect(await leftOf(rowOf(page, tail(failed)).locator(".job-title")), "all titles begin at one edge").toBe(before);
	});

	it("rows of an endpoint whose jobs return no pictures have no room for them", async () => {
		const id = await here.ended("texts", { output: "high tide" });
		const page = await here.open({ at: "#/endpoints/texts/requests" });
		const row = rowOf(page, tail(id));
		await row.waitFor();
		await row.locator(".thumbnail").waitFor({ state: "detached" });
		await page.route("**/v2/texts/status/**", () => undefined);
		await page.reload();
		await row.waitFor();
		expect(await row.locator(".thumbnail").count(), "the browser remembers it").toBe(0);
	});

	it("pictures are compared as pictures: next to each other, or once where both are the same", async () => {
		const ended = (name: string, grey: number) => here.ended("compared", { output: { image: picture(8, grey), name } });
		const [one, two, like] = [await ended("a", 120), await ended("b", 200), await ended("c", 120)];
		const page = await here.open({ at: `#/endpoints/compared/requests/${one}?with=${two}` });
		const output = page.locator("section", { has: page.getByRole("heading", { name: T.job.output }) });
		const sources = (): Promise<string[]> =>
			output.locator("img").evaluateAll((all) => all.map((each) => (each as unknown as { src: string }).src));
		await expect.poll(sources).toEqual([picture(8, 120), picture(8, 200)]);
		await output.locator(".diff .left", { hasText: '"image": (png, ' }).waitFor();
		expect(await page.locator(".diff", { hasText: "base64" }).count()).toBe(0);
		await goTo(page, `#/endpoints/compared/requests/${one}?with=${like}`);
		await output.locator(".diff .right", { hasText: '"c"' }).waitFor();
		expect(await sources()).toEqual([picture(8, 120)]);
		await page.setViewportSize(NARROW);
		expect(await pageOverflows(page)).toBe(false);
	});

	it("a comparison leads back to the list or the job that it was made from, with its sides swapped too", async () => {
		const one = await here.ended("compared", { output: "a" });
		const two = await here.ended("compared", { output: "b" });
		const page = await here.open({ at: "#/endpoints/compared/requests?status=COMPLETED" });
		for (const id of [one, two]) await rowOf(page, tail(id)).getByRole("checkbox").check();
		await page.getByRole("link", { name: T.compare.act, exact: true }).click();
		await page.getByRole("link", { name: T.compare.swap }).click();
		await page.getByRole("link", { name: `← ${T.job.back}` }).click();
		await rowOf(page, tail(one)).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/compared/requests?status=COMPLETED");
		await goTo(page, `#/endpoints/compared/requests/${one}`);
		await press(page, T.compare.open);
		await page.getByLabel(T.compare.id).fill(two);
		await press(page, T.compare.act);
		await page.getByRole("link", { name: T.compare.swap }).click();
		await page.getByRole("link", { name: `← ${T.requests.untitled(`…${tail(one)}`)}` }).click();
		await page.getByText(one, { exact: true }).waitFor();
		expect(new URL(page.url()).hash).toBe(`#/endpoints/compared/requests/${one}`);
	});

	it("on a phone the rows of an output are cards with whole pictures, and nothing scrolls sideways", async () => {
		const file = `/mnt/outputs/${"thumbnails-".repeat(4)}`;
		const output = [64, 160].map((side) => ({ width: side, height: side, image: picture(side, 90), ms: 12, file }));
		const id = await here.ended("sized", { output });
		const page = await here.open({ at: `#/endpoints/sized/requests/${id}`, width: NARROW });
		const table = page.locator(".object-table");
		await table.locator("img").nth(1).waitFor();
		const card = (await table.locator("tbody tr").first().boundingBox())!;
		for (const image of await table.locator("img").all()) {
			const box = (await image.boundingBox())!;
			expect(box.width).toBeGreaterThan(20);
			expect(box.x + box.width).toBeLessThanOrEqual(card.x + card.width);
		}
		expect(await table.evaluate((each: any) => each.scrollWidth > each.clientWidth)).toBe(false);
		expect(await pageOverflows(page)).toBe(false);
	});
});
