/** The playground in a real browser: chats, pictures, two endpoints side by side, the first input. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
// @ts-expect-error A starter is plain JavaScript.
import { png } from "../../starters/image/png.js";
import { call } from "../support/service.ts";
import { goTo, noBrowser, press, site, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({
		work: place.stage(),
		second: place.stage({ name: "Second" }),
		pictures: place.stage(),
		fresh: { name: "Fresh" },
	}),
});

/** A worker may have to start. */
const SLOW = { timeout: 15_000 };

const chatOf = (page: Page, endpoint: string): ReturnType<Page["locator"]> =>
	page.getByRole("region", { name: T.chat.of(endpoint) });

async function ask(page: Page, text: string): Promise<void> {
	await page.getByLabel(T.chat.message).fill(text);
	await page.keyboard.press("Enter");
}

/** A small picture that a browser shows. */
function pictureUrl(): string {
	const pixels = Buffer.alloc(8 * 8 * 3, 120);
	return `data:image/png;base64,${png({ width: 8, height: 8, pixels }).toString("base64")}`;
}

describe.skipIf(noBrowser !== undefined)(titled("the playground"), () => {
	it("a chat streams, shows its pace, sends what was said before, and links to its jobs", async () => {
		const page = await here.open({ at: "#/endpoints/work/try?mode=chat" });
		await press(page, T.chat.models);
		await expect.poll(() => page.getByLabel(T.chat.model, { exact: true }).inputValue(), SLOW).toBe("echo-1");
		await ask(page, "hello until:chat-goes-on there");
		// The first words are shown while the rest is awaited.
		await chatOf(page, "work").getByText("1: hello", { exact: true }).waitFor();
		await page.getByRole("button", { name: T.chat.stop }).waitFor();
		here.allow("chat-goes-on");
		await chatOf(page, "work").getByText("1: hello there", { exact: true }).waitFor();
		const pace = chatOf(page, "work").locator(".chat-pace");
		await pace.getByText(T.chat.tokens("42", true)).waitFor();
		expect(await pace.textContent()).toMatch(/First token after .* · 42 tokens · [\d,.]+ tokens\/s/);
		await ask(page, "again");
		await chatOf(page, "work").getByText("3: again", { exact: true }).waitFor();
		await press(page, T.chat.code);
		await page.getByRole("tab", { name: "Python" }).click();
		await page.getByText("client.chat.completions.create").waitFor();
		expect(await page.getByRole("dialog").textContent()).toContain("1: hello there");
		await page.keyboard.press("Escape");
		await chatOf(page, "work").getByRole("link", { name: T.chat.job }).first().click();
		await page.locator(".job-head .status", { hasText: T.states.COMPLETED }).waitFor();
	});

	it("an answer is stopped, which cancels its job; an error of the worker is shown", async () => {
		const page = await here.open({
			at: "#/endpoints/work/try?mode=chat",
			forgive: /status of (?:409|500)/,
		});
		await ask(page, "wait until:never");
		await chatOf(page, "work").getByText("1: wait", { exact: true }).waitFor();
		const job = await chatOf(page, "work").getByRole("link", { name: T.chat.job }).getAttribute("title");
		const cancelled = here.service.next("job.settled", ({ id }) => id === job);
		await press(page, T.chat.stop);
		await chatOf(page, "work").getByText(T.chat.stopped).waitFor();
		await cancelled;
		await press(page, T.chat.clear);
		await ask(page, "now fail");
		await chatOf(page, "work").getByRole("alert").getByText("The model is broken.").waitFor();
	});

	it("one message goes to two endpoints side by side", async () => {
		const page = await here.open({ at: "#/endpoints/work/try?mode=chat" });
		await page.getByRole("button", { name: T.playground.compare }).click();
		await page.getByRole("option", { name: "Second" }).click();
		await page.getByLabel(T.chat.modelOf("second")).waitFor();
		await ask(page, "both");
		await chatOf(page, "work").getByText("1: both", { exact: true }).waitFor();
		await chatOf(page, "second").getByText("1: both", { exact: true }).waitFor();
		await page.getByRole("tab", { name: T.playground.mode.job }).click();
		await page.getByLabel(T.try.input).fill('{"output": "for both"}');
		await press(page, T.try.send);
		await expect
			.poll(() => page.getByRole("region", { name: T.try.result }).getByText("for both").count(), SLOW)
			.toBe(2);
	});

	it("the first input is that of the newest job", async () => {
		const page = await here.open({ at: "#/endpoints/fresh/try" });
		expect(await page.getByLabel(T.try.input).inputValue()).toContain("prompt");
		await here.submit("fresh", { output: "of the newest job" });
		await goTo(page, "#/overview");
		await goTo(page, "#/endpoints/fresh/try");
		await expect.poll(() => page.getByLabel(T.try.input).inputValue(), SLOW).toContain('"output": "of the newest job"');
	});

	it("the input is in colours, and what is wrong with it is said below it before it is sent", async () => {
		const page = await here.open({ at: "#/endpoints/fresh/try" });
		const input = page.getByLabel(T.try.input);
		await input.fill('{\n  "steps": 20,\n  "prompt": "a heron"');
		const copy = page.locator(".code-area pre");
		await expect.poll(() => copy.locator(".code-string").allInnerTexts()).toEqual(['"steps"', '"prompt"', '"a heron"']);
		expect(await copy.locator(".code-number").innerText()).toBe("20");
		await page.getByText(T.try.notJson("").slice(0, 20)).waitFor();
		const asked: string[] = [];
		page.on("request", (request) => request.method() === "POST" && asked.push(request.url()));
		await press(page, T.try.send);
		expect(await page.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
		// The copy scrolls with the text, so that each letter has its colour at any length.
		await input.fill(`{\n${'  "a": 1,\n'.repeat(200)}  "b": 2\n}`);
		const scrolled =
			"[...document.querySelectorAll('.code-area > *')].map((each) => [each.scrollTop, each.scrollHeight])";
		await page.keyboard.press("Control+End");
		await expect
			.poll(async () => {
				const [under, over] = (await page.evaluate(scrolled)) as [number, number][];
				return over![0] > 0 && String(under) === String(over);
			})
			.toBe(true);
		expect(asked).toEqual([]);
	});

	it("a form for pictures has the fields of the newest job's input, and shows what is made", async () => {
		const page = await here.open({ at: "#/endpoints/pictures/try?mode=picture" });
		await page.getByText(T.picture.fromNone).waitFor();
		const generate = page.getByRole("button", { name: T.picture.generate });
		expect(await generate.isDisabled()).toBe(true);
		const output = { images: [pictureUrl()] };
		const input = { prompt: "a harbour", workflow: { width: 128 }, seed: 7, output };
		await here.ended("pictures", input);
		// Without a mode in the address, that of the newest job's input is shown.
		await goTo(page, "#/overview");
		await goTo(page, "#/endpoints/pictures/try");
		await page.getByText(T.picture.fromLast).waitFor();
		await page.getByLabel(T.picture.roles.prompt).fill("a lighthouse");
		await page.getByLabel(T.picture.roles.width).fill("256");
		await press(page, T.picture.generate);
		await page.getByRole("img", { name: T.media.picture("images[0]") }).waitFor();
		const [{ id }] = (await call(here.service.url, "/v1/endpoints/pictures/jobs?limit=1")).json.jobs as [
			{ id: string },
		];
		const sent = (await call(here.service.url, `/v1/endpoints/pictures/jobs/${id}`)).json.input;
		expect(sent).toEqual({
			prompt: "a lighthouse",
			workflow: { width: 256 },
			seed: expect.any(Number),
			output,
		});
		expect(sent.seed).not.toBe(7);
	});

	it("a form for pictures says that the jobs of an endpoint have no prompt, and leads to a job as JSON", async () => {
		await here.ended("second", { output: 1 });
		const page = await here.open({ at: "#/endpoints/second/try?mode=picture" });
		await page.getByText(T.picture.noPrompt).waitFor();
		await page.getByLabel(T.picture.roles.prompt).fill("a lighthouse");
		expect(await page.getByRole("button", { name: T.picture.generate }).isDisabled()).toBe(true);
		await press(page, T.picture.toJob);
		await page.getByRole("tab", { name: T.playground.mode.job, selected: true }).waitFor();
	});
});
