/**
 * Jobs in a real browser as what they are about: causes of failures, the time of a list, the way
 * from job to job, conversations and streamed texts, webhooks, and code with the last input.
 */
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
// @ts-expect-error A starter is plain JavaScript.
import { png } from "../../starters/image/png.js";
import { call } from "../support/service.ts";
import { NARROW, goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({
		causes: place.stage(),
		walked: {},
		talk: place.stage(),
		pictures: place.stage(),
		hooked: {},
	}),
});

const groupOf = (page: Page, text: string): Locator => page.locator(".error-groups li", { hasText: text });

describe.skipIf(noBrowser !== undefined)(titled("what jobs are about"), () => {
	it("failures are grouped by their cause, shown and retried together", async () => {
		for (const n of [1, 2, 3])
			await here.ended("causes", { fail: `ffmpeg exited with code ${n} for /tmp/${n}/in.wav` });
		const other = await here.ended("causes", { fail: "out of memory" });
		await here.ended("causes", { output: "good" });
		const page = await here.open({ at: "#/endpoints/causes/requests" });
		const tabs = page.getByRole("navigation", { name: T.requests.states });
		await tabs.getByRole("link", { name: `${T.requests.all} 5`, exact: true }).waitFor();
		await tabs.getByRole("link", { name: `${T.states.FAILED} 4`, exact: true }).click();
		const group = groupOf(page, "ffmpeg exited with code N for …");
		await expect.poll(() => group.locator(".group-count").textContent()).toBe("3");
		await group.getByRole("link").click();
		await rowOf(page, tail(other)).waitFor({ state: "detached" });
		await expect.poll(() => page.locator("tbody tr").count()).toBe(3);
		await page.goBack();
		await rowOf(page, tail(other)).waitFor();
		await group.getByRole("button").click();
		await page
			.getByRole("dialog")
			.getByRole("button", { name: T.bulk.retry.act("3") })
			.click();
		await page.getByText(T.bulk.retry.done("3")).first().waitFor();
		await expect
			.poll(async () => (await call(here.service.url, "/v2/causes/health")).json.jobs.retried)
			.toBeGreaterThanOrEqual(3);
	});

	it("a part of the time is selected by the keyboard, and a range by a press", async () => {
		const page = await here.open({ at: "#/endpoints/causes/requests" });
		await page.getByRole("radio", { name: T.requests.ranges["15m"] }).click();
		expect(new URL(page.url()).hash).toContain("range=15m");
		const history = page.getByRole("slider", { name: T.histogram.title });
		// The bar whose time is not over is marked, and says so.
		await history.locator("g:last-of-type.open > title", { hasText: / so far$/ }).waitFor({ state: "attached" });
		expect(await history.locator("g.open").count()).toBe(1);
		await history.focus();
		await page.keyboard.press("ArrowLeft");
		await page.keyboard.press("Shift+ArrowLeft");
		await page.keyboard.press("Enter");
		await expect.poll(() => new URL(page.url()).hash).toMatch(/from=\d{4}-.*&to=\d{4}-/);
		expect(new URL(page.url()).hash).not.toContain("range");
		await page.getByRole("button", { name: /^Remove: \d\d:\d\d – \d\d:\d\d$/ }).click();
		await expect.poll(() => new URL(page.url()).hash).toBe("#/endpoints/causes/requests");
	});

	it("j and k lead from job to job in the order of the list, and back to it", async () => {
		const ids = [];
		for (const n of [1, 2, 3, 4]) ids.push(await here.submit("walked", { output: n }));
		await call(here.service.url, `/v2/walked/cancel/${ids[1]}`, { method: "POST" });
		const page = await here.open({ at: "#/endpoints/walked/requests" });
		const tabs = page.getByRole("navigation", { name: T.requests.states });
		await tabs.getByRole("link", { name: `${T.requests.all} 4`, exact: true }).waitFor();
		// Cancelling all that match is offered with a filter only.
		expect(await page.getByRole("button", { name: /^Cancel/ }).count()).toBe(0);
		await tabs.getByRole("link", { name: T.states.IN_QUEUE }).click();
		await page.getByRole("button", { name: T.bulk.cancel.openOf("3") }).waitFor();
		await rowOf(page, tail(ids[0]!)).waitFor();
		await rowOf(page, tail(ids[3]!)).waitFor();
		// From anywhere on the page, the first key leads into the list.
		await page.keyboard.press("j");
		await page.keyboard.press("Enter");
		const shown = (id: string): Promise<void> => page.locator(".job-id", { hasText: id }).waitFor();
		await shown(ids[3]!);
		expect(await page.getByRole("button", { name: T.endpoint.purge }).count()).toBe(0);
		await page.keyboard.press("j");
		await shown(ids[2]!);
		// The cancelled one is not in the list.
		await page.keyboard.press("j");
		await shown(ids[0]!);
		await page.keyboard.press("k");
		await shown(ids[2]!);
		await page.locator(".job-moves a").click();
		await rowOf(page, tail(ids[3]!)).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/walked/requests?status=IN_QUEUE");
		// Opened by its address alone, it has its neighbours by the time of submission.
		await goTo(page, "#/overview");
		await page.reload();
		await goTo(page, `#/endpoints/walked/requests/${ids[2]}`);
		await shown(ids[2]!);
		await page.getByRole("button", { name: T.job.older }).click();
		await shown(ids[1]!);
	});

	it("a chat is a conversation, and what is streamed in pieces one text, with the pieces as Raw", async () => {
		await call(here.service.url, "/v2/talk/runsync?wait=20000", {
			body: {
				input: {
					openai_route: "/v1/chat/completions",
					openai_input: { model: "echo-1", messages: [{ role: "user", content: "ahoy there" }] },
				},
			},
		});
		const page = await here.open({ at: "#/endpoints/talk/requests" });
		await page.getByRole("link", { name: "ahoy there" }).click();
		await page.locator(".turn.own", { hasText: "ahoy there" }).waitFor();
		await page.locator(".turn:not(.own)", { hasText: "1: ahoy there" }).waitFor();
		await page.getByRole("radio", { name: T.job.input }).click();
		await page.locator(".json-string", { hasText: "echo-1" }).waitFor();
		const pieces = await here.ended("talk", { chunks: ["tide ", "is ", "out"].map((token) => ({ token })) });
		await goTo(page, `#/endpoints/talk/requests/${pieces}`);
		await page.getByText("tide is out", { exact: true }).waitFor();
		await page.getByRole("radio", { name: T.views.raw }).click();
		await page.getByText(T.json.items(3)).first().waitFor();
	});

	it("code and playground of an endpoint that has had chats begin with them", async () => {
		// A job of another kind came after the chat.
		await here.ended("talk", { output: { size: 7 } });
		const page = await here.open({ at: "#/endpoints/talk/connect" });
		await page.locator(".code-block", { hasText: 'model="echo-1"' }).waitFor();
		expect(await page.getByRole("tab").first().textContent()).toBe("OpenAI");
		await page.getByRole("tab", { name: "curl" }).click();
		await page.locator(".code-block", { hasText: '{"input": {"output": {"size": 7}}}' }).waitFor();
		await page.locator(".code-comment", { hasText: "# Waits for the result" }).waitFor();
		await goTo(page, "#/endpoints/talk/try");
		await expect.poll(() => page.getByLabel(T.chat.model, { exact: true }).inputValue()).toBe("echo-1");
	});

	it("a picture that a job returned is shown in its row", async () => {
		const pixels = Buffer.alloc(8 * 8 * 3, 120);
		const image = `data:image/png;base64,${png({ width: 8, height: 8, pixels }).toString("base64")}`;
		const id = await here.ended("pictures", { output: { image } });
		const page = await here.open({ at: "#/endpoints/pictures/requests" });
		const picture = rowOf(page, tail(id)).locator("img.thumbnail");
		await picture.waitFor();
		expect(await picture.evaluate((each) => (each as unknown as { naturalWidth: number }).naturalWidth)).toBe(56);
	});

	it("the address of a webhook stands on one line with its end, on a phone too", async () => {
		const webhook = `http://hooks.invalid/${"a-long-path/".repeat(12)}the-end`;
		const id = await here.submit("hooked", {}, { webhook });
		await call(here.service.url, `/v2/hooked/cancel/${id}`, { method: "POST" });
		const page = await here.open({ at: `#/endpoints/hooked/requests/${id}` });
		const url = page.locator("td .middle");
		await url.waitFor();
		expect(await url.getAttribute("title")).toBe(webhook);
		expect(await page.getByRole("columnheader", { name: T.webhooks.endpoint }).count()).toBe(0);
		for (const size of [undefined, NARROW]) {
			if (size) await page.setViewportSize(size);
			expect((await url.boundingBox())!.height).toBeLessThan(30);
			expect(await url.locator("span").last().textContent()).toMatch(/the-end$/);
		}
	});

	it("on a phone a job has two lines with its state as a word, and the filters are behind a button", async () => {
		const id = await here.ended("talk", { log: "a harbour" });
		const page = await here.open({ at: "#/endpoints/talk/requests", width: NARROW });
		const row = rowOf(page, tail(id));
		await row.waitFor();
		expect((await row.boundingBox())!.height).toBeLessThan(75);
		expect((await row.locator(".status").boundingBox())!.width).toBeGreaterThan(60);
		expect(await row.getByText(T.requests.ran).isVisible()).toBe(true);
		const search = page.getByLabel(T.requests.search);
		expect(await search.isVisible()).toBe(false);
		await press(page, T.requests.filters);
		await search.fill("no such text");
		await page.getByText(T.requests.noMatch).waitFor();
	});
});
