/**
 * The list of jobs and the page of one in a real browser: found, selected, compared, and shown as
 * what they are.
 */
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({
		work: place.stage(),
		crowd: { name: "Crowd" },
		searched: {},
		own: {},
		few: {},
	}),
});

describe.skipIf(noBrowser !== undefined)(titled("requests in the console"), () => {
	it("a row has the first line of the error and the input, and leads to its job", async () => {
		const id = await here.ended("work", { fail: "no such harbour\nat line 7" });
		const page = await here.open({ at: "#/endpoints/work/requests" });
		const row = rowOf(page, tail(id));
		await row.getByText("no such harbour", { exact: false }).first().waitFor();
		await row.locator(".job-title", { hasText: "no such harbour" }).waitFor();
		expect(await row.getByText("at line 7", { exact: true }).count()).toBe(0);
		await row.locator(".status").click();
		await page.locator(".job-id", { hasText: id }).waitFor();
		await page.goBack();
		// By keyboard: from row to row, then its link.
		await rowOf(page, tail(id)).locator("a").first().focus();
		await page.keyboard.press("Enter");
		await page.locator(".job-id", { hasText: id }).waitFor();
	});

	it("selected rows are cancelled, the others stay", async () => {
		const ids = [];
		for (let n = 0; n < 3; n += 1) ids.push(await here.submit("crowd", { output: n }));
		const page = await here.open({ at: "#/endpoints/crowd/requests" });
		await page.getByRole("link", { name: `${T.requests.all} 3`, exact: true }).waitFor();
		for (const id of ids.slice(0, 2)) await rowOf(page, tail(id)).getByRole("checkbox").check();
		const bar = page.getByRole("region", { name: T.requests.selection });
		await bar.getByText(T.requests.selected("2")).waitFor();
		expect(await bar.getByRole("button", { name: T.bulk.retry.act("0") }).isDisabled()).toBe(true);
		await bar.getByRole("button", { name: T.bulk.cancel.act("2") }).click();
		await page
			.getByRole("dialog")
			.getByRole("button", { name: T.bulk.cancel.act("2") })
			.click();
		await page.getByText(T.bulk.cancel.done("2")).first().waitFor();
		await bar.waitFor({ state: "detached" });
		const states = await Promise.all(
			ids.map(async (id) => (await call(here.service.url, `/v2/crowd/status/${id}`)).json.status),
		);
		expect(states).toEqual(["CANCELLED", "CANCELLED", "IN_QUEUE"]);
		// All of the page by the box in its head.
		await page.getByLabel(T.requests.selectAll).check();
		await bar.getByText(T.requests.selected("3")).waitFor();
		await bar.getByRole("button", { name: T.requests.deselect }).click();
		await bar.waitFor({ state: "detached" });
	});

	it("D39: jobs are found by the end of the id, the error, and a member of the input", async () => {
		const failed = await here.ended("work", { fail: "lighthouse is dark" });
		const { json } = await call(here.service.url, "/v2/work/runsync?wait=20000", {
			text: '{"input":{"metadata":{"user": "Ada"}}}',
		});
		const found = json.id as string;
		const page = await here.open({ at: "#/endpoints/work/requests" });
		const search = page.getByLabel(T.requests.search);
		for (const [text, id, other] of [
			[`…${tail(failed)}`, failed, found],
			["LIGHTHOUSE", failed, found],
			['"user":"ada"', found, failed],
		] as const) {
			// Without Enter.
			await search.fill(text);
			await rowOf(page, tail(other)).waitFor({ state: "detached" });
			await rowOf(page, tail(id)).waitFor();
		}
		await search.fill("no such text anywhere");
		await page.getByText(T.requests.noMatch).waitFor();
		await press(page, T.requests.clear);
		await rowOf(page, tail(failed)).waitFor();
		expect(await search.inputValue()).toBe("");
	});

	it("D39: all that a search finds are cancelled, the others stay", async () => {
		const ids = [];
		for (const user of ["Ada", "Bob", "Ada"]) ids.push(await here.submit("searched", { output: { user } }));
		const page = await here.open({ at: "#/endpoints/searched/requests?search=ada" });
		await rowOf(page, tail(ids[0]!)).waitFor();
		expect(await rowOf(page, tail(ids[1]!)).count()).toBe(0);
		await press(page, T.bulk.cancel.open);
		await page.getByText(T.bulk.cancel.ask("2")).waitFor();
		await press(page, T.bulk.cancel.act("2"));
		await page.getByText(T.bulk.cancel.done("2")).waitFor();
		const states = await Promise.all(
			ids.map(async (id) => (await call(here.service.url, `/v2/searched/status/${id}`)).json.status),
		);
		expect(states).toEqual(["CANCELLED", "IN_QUEUE", "CANCELLED"]);
	});

	it("a filter is kept under a name, and columns as they were chosen", async () => {
		const id = await here.submit("own", {});
		const page = await here.open({ at: "#/endpoints/own/requests?status=IN_QUEUE" });
		await rowOf(page, tail(id)).waitFor();
		await press(page, T.requests.save);
		await page.getByLabel(T.requests.filterName).fill("Stuck");
		await page.getByRole("dialog").getByRole("button", { name: T.requests.save }).click();
		await press(page, T.requests.columns);
		await page.getByRole("dialog").getByText(T.requests.delay, { exact: true }).click();
		await page.getByRole("dialog").getByText(T.requests.ended, { exact: true }).click();
		await page.keyboard.press("Escape");
		await goTo(page, "#/endpoints/own/requests");
		await page.reload();
		await page.getByRole("columnheader", { name: T.requests.ended }).waitFor();
		expect(await page.getByRole("columnheader", { name: T.requests.delay }).count()).toBe(0);
		await page.getByRole("link", { name: "Stuck" }).click();
		expect(new URL(page.url()).hash).toBe("#/endpoints/own/requests?status=IN_QUEUE");
		await press(page, T.requests.forget("Stuck"));
		await page.reload();
		await rowOf(page, tail(id)).waitFor();
		expect(await page.getByRole("link", { name: "Stuck" }).count()).toBe(0);
	});

	it("two jobs are compared: selected, or by the id of the other", async () => {
		const one = await here.submit("few", { output: { colour: "red", size: 1 } });
		const two = await here.submit("few", { output: { colour: "blue", size: 1 } });
		const page = await here.open({ at: "#/endpoints/few/requests" });
		for (const id of [one, two]) await rowOf(page, tail(id)).getByRole("checkbox").check();
		await page.getByRole("link", { name: T.compare.act, exact: true }).click();
		await page.locator(".diff .left", { hasText: '"red"' }).waitFor();
		await page.locator(".diff .right", { hasText: '"blue"' }).waitFor();
		expect(await page.locator(".diff .both", { hasText: '"size"' }).count()).toBe(1);
		await goTo(page, `#/endpoints/few/requests/${two}`);
		await press(page, T.compare.open);
		await page.getByLabel(T.compare.id).fill(one);
		await press(page, T.compare.act);
		await page.locator(".diff .left", { hasText: '"blue"' }).waitFor();
	});

	it("of a long line the comparison shows the beginning, and all of it on request", async () => {
		const one = await here.submit("few", { output: { picture: "a".repeat(100_000) } });
		const two = await here.submit("few", { output: { picture: "b" } });
		const page = await here.open({ at: `#/endpoints/few/requests/${one}?with=${two}` });
		const line = page.locator(".diff .left", { hasText: '"picture"' }).first();
		expect((await line.locator("code").textContent())!.length).toBeLessThan(1000);
		await line.getByRole("button").click();
		await expect.poll(async () => (await line.locator("code").textContent())!.length).toBeGreaterThan(100_000);
	});

	it("a failure is shown once and readable, with its times to the ms and as code", async () => {
		const id = await here.ended("work", { fail: "the tide is out" });
		const page = await here.open({ at: `#/endpoints/work/requests/${id}` });
		await page.locator(".error-text", { hasText: "the tide is out" }).first().waitFor();
		expect(await page.locator(".error-text:not(.quiet)", { hasText: "the tide is out" }).count()).toBe(1);
		await page.getByRole("img", { name: /attempt 1 ran/ }).waitFor();
		await page.locator(".events summary").click();
		await page
			.locator(".timeline time", { hasText: /\d\d:\d\d:\d\d\.\d{3}/ })
			.first()
			.waitFor();
		await page.getByText(T.job.asCode).click();
		await page.getByRole("radio", { name: "Python" }).click();
		await page.locator(".code-block", { hasText: "the tide is out" }).waitFor();
		await page.getByRole("radio", { name: "curl" }).click();
		await page.locator(".code-block", { hasText: "<<'JSON'" }).waitFor();
	});

	it("a text keeps its lines, Markdown is formatted, and neither is HTML or opens a link unasked", async () => {
		const evil = `<img src=x onerror="globalThis.harmed=1">`;
		const output = [
			"# Tides\n\nline one\n",
			`- **high** ${evil}`,
			"- [low](https://example.com/low) [bad](javascript:globalThis.harmed=1)",
		].join("\n");
		const id = await here.ended("work", { output });
		const page = await here.open({ at: `#/endpoints/work/requests/${id}` });
		await page.locator(".md-heading", { hasText: "Tides" }).first().waitFor();
		await page.locator(".markdown strong", { hasText: "high" }).first().waitFor();
		await page.getByText(evil).first().waitFor();
		await page.getByRole("button", { name: "low" }).first().click();
		await page.getByRole("dialog").getByText(T.leave.title("example.com")).waitFor();
		await page.keyboard.press("Escape");
		await page.getByRole("radio", { name: T.views.text }).first().click();
		const text = page.locator("pre.stream-text").first();
		await text.waitFor();
		expect(await text.innerText()).toBe(output);
		expect(
			await page.evaluate(
				"[globalThis.harmed, document.querySelectorAll('main img, main a[href^=\"javascript:\"]').length]",
			),
		).toEqual([undefined, 0]);
		// B4: also in the tree of an object.
		const other = await here.ended("work", { output: { a: "line1\nline2\ttab", b: 1 } });
		await goTo(page, `#/endpoints/work/requests/${other}`);
		const leaf = page.locator(".json-string", { hasText: "line1" }).first();
		await leaf.waitFor();
		expect(await leaf.innerText()).toContain("line1\nline2\ttab");
	});

	it.each([
		["blanks in a heading", `# ${" ".repeat(1500)}x\ry${" ".repeat(1500)}z`],
		["a table that never begins", `|a\n|${" :-:".repeat(25_000)}x`],
		["code in code", "```\n".repeat(9000)],
		["a list", "- a\n".repeat(25_000)],
		["a shorter list", "- a\n".repeat(3900)],
		["links", "https://a ".repeat(10_000)],
		["many quotes", `${"> ".repeat(30)}a\n${"b\n".repeat(49_000)}`],
	])("no output freezes the console: %s", async (_, output) => {
		const [first, id] = [await here.ended("work", { output: "# Tides" }), await here.ended("work", { output })];
		const page = await here.open({ at: `#/endpoints/work/requests/${first}` });
		await page.locator(".md-heading").first().waitFor();
		const session = await page.context().newCDPSession(page);
		// Processor time of the page's thread: what else the machine does is no part of it.
		await session.send("Performance.enable", { timeDomain: "threadTicks" });
		const spentMs = async (): Promise<number> => {
			const { metrics } = await session.send("Performance.getMetrics");
			return metrics.find(({ name }) => name === "TaskDuration")!.value * 1000;
		};
		const before = await spentMs();
		await goTo(page, `#/endpoints/work/requests/${id}`);
		await page.getByText(tail(id)).first().waitFor();
		await page.getByRole("radio", { name: T.views.text }).first().click();
		expect((await spentMs()) - before).toBeLessThan(4000);
	});

	it("the menu stays in view beside a long page", async () => {
		const id = await here.ended("work", { output: "a line\n".repeat(400) });
		const page = await here.open({ at: `#/endpoints/work/requests/${id}` });
		await page.getByText(tail(id)).first().waitFor();
		const entry = page.locator(".side nav a").first();
		await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
		await expect.poll(() => page.evaluate("scrollY")).toBeGreaterThan(300);
		expect((await entry.boundingBox())!.y).toBeGreaterThanOrEqual(0);
		// Above the foot, which stays in view too.
		const [menu, foot] = [page.locator(".side nav"), page.locator(".side-foot")];
		const { y, height } = (await menu.boundingBox())!;
		expect(y + height).toBeLessThanOrEqual((await foot.boundingBox())!.y);
	});

	it("a conversation is shown as its turns, and objects as a table", async () => {
		const chat = await here.ended("work", {
			output: { choices: [{ message: { role: "assistant", content: "**Ahoy**" } }] },
		});
		const page = await here.open({ at: `#/endpoints/work/requests/${chat}` });
		await page.locator(".turn", { hasText: "assistant" }).locator("strong", { hasText: "Ahoy" }).waitFor();
		const table = await here.ended("work", {
			output: [{ port: "Bremen", depth: 9 }, { port: "Kiel" }],
		});
		await goTo(page, `#/endpoints/work/requests/${table}`);
		await page.getByRole("columnheader", { name: "depth" }).waitFor();
		await page.getByRole("cell", { name: "Kiel" }).waitFor();
	});
});
