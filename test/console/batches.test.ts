/** Batches of an endpoint in a real browser (D57): created, followed, cancelled; their errors and files. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import type { BatchObject } from "../../src/modules/openai-async/routes.ts";
import { call, KEY } from "../support/service.ts";
import { noBrowser, press, rowOf, site, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({ work: place.stage(), stopped: place.stage(), faulty: {}, empty: {}, many: {}, seen: {} }),
});

const { create, page: words } = T.batches;

/** A line of an input file; the worker does as the content says. */
const lineOf = (id: string, content: string): string =>
	JSON.stringify({
		custom_id: id,
		method: "POST",
		url: "/v1/chat/completions",
		body: { model: "echo-1", messages: [{ role: "user", content }] },
	});

const fileOf = (lines: readonly string[]): { name: string; mimeType: string; buffer: Buffer } => ({
	name: "requests.jsonl",
	mimeType: "",
	buffer: Buffer.from(lines.join("\n")),
});

const api = (endpoint: string, rest: string): string => `/v2/${endpoint}/openai/v1/${rest}`;

/** Stores a file of these lines; answers its id. */
async function store(endpoint: string, lines: readonly string[]): Promise<string> {
	const form = new FormData();
	form.append("purpose", "batch");
	form.append("file", new File([lines.join("\n")], "requests.jsonl"));
	const headers = { authorization: `Bearer ${KEY}` };
	const url = `${here.service.url}${api(endpoint, "files")}`;
	return ((await (await fetch(url, { method: "POST", headers, body: form })).json()) as { id: string }).id;
}

/** Creates a batch; answers its id. */
async function batchOf(endpoint: string, file: string, metadata: object = {}): Promise<string> {
	const body = { input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h", metadata };
	const { status, json, text } = await call(here.service.url, api(endpoint, "batches"), { body });
	expect(status, text).toBe(200);
	return json.id as string;
}

const read = async (endpoint: string, id: string): Promise<BatchObject> =>
	(await call(here.service.url, api(endpoint, `batches/${id}`))).json;

const stateOf = (page: Page, state: BatchObject["status"]): Locator =>
	page.locator(".job-head .status", { hasText: T.states[state] });

const backToList = (page: Page): Promise<void> => page.getByRole("link", { name: `← ${words.back}` }).click();

/** The id of the batch whose page is shown. */
const shownId = (page: Page): Promise<string> => page.locator(".job-id").innerText();

describe.skipIf(noBrowser !== undefined)(titled("batches in the console"), () => {
	it("D57: a batch is created from a file, followed until it has ended, and its output downloaded", async () => {
		const page = await here.open({ at: "#/endpoints/work/batches" });
		await press(page, create.open);
		const dialog = page.getByRole("dialog");
		await dialog.getByText(create.noFiles).waitFor();
		expect(await dialog.getByRole("button", { name: create.act }).isDisabled()).toBe(true);
		const lines = [lineOf("a", "hello"), lineOf("b", "fail"), lineOf("c", "until:go")];
		await dialog.getByLabel(T.files.choose).setInputFiles(fileOf(lines));
		await dialog.getByRole("button", { name: /requests\.jsonl/ }).waitFor();
		await expect.poll(() => dialog.getByLabel(create.path).inputValue()).toBe("/v1/chat/completions");
		expect(await dialog.getByLabel(create.window).inputValue()).toBe("24h");
		await press(page, create.act);

		const bar = page.getByRole("progressbar", { name: T.batches.requests });
		await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("2");
		expect(await bar.getAttribute("aria-valuemax")).toBe("3");
		expect(await bar.getAttribute("aria-valuetext")).toBe(`${T.batches.ended("2", "3")}, ${T.batches.failed("1")}`);
		await stateOf(page, "in_progress").waitFor();
		// It is known after two readings.
		const rate = page.locator("dt", { hasText: words.rate }).locator("+ dd");
		await expect.poll(() => rate.innerText()).toMatch(/^[\d.,]+ per (?:minute|hour)$/);
		here.allow("go");
		await stateOf(page, "completed").waitFor();
		expect(await bar.getAttribute("aria-valuenow")).toBe("3");
		expect(await page.getByRole("button", { name: words.cancel }).count()).toBe(0);
		await page
			.getByRole("table", { name: words.byCode })
			.getByText(/broken/)
			.waitFor();

		const id = await shownId(page);
		const saved = page.waitForEvent("download");
		await press(page, words.output);
		const download = await saved;
		expect(download.suggestedFilename()).toBe(`${id}_output.jsonl`);
		const answers = readFileSync(await download.path(), "utf8")
			.trimEnd()
			.split("\n");
		expect(answers.map((each) => (JSON.parse(each) as { custom_id: string }).custom_id).toSorted()).toEqual(["a", "c"]);
		await backToList(page);
		const row = rowOf(page, id);
		await row.getByText(T.states.completed).waitFor();
		await row.getByText(T.batches.of("3", "3")).waitFor();
	});

	it("D57: a refused batch says why, and can be corrected; its form has the files of the endpoint", async () => {
		await store("faulty", [lineOf("a", "hello"), "no JSON", lineOf("a", "hello")]);
		const page = await here.open({ at: "#/endpoints/faulty/batches", forgive: /status of 400/ });
		await press(page, create.open);
		const dialog = page.getByRole("dialog");
		await dialog.getByRole("button", { name: /requests\.jsonl/ }).waitFor();
		await dialog.getByLabel(create.window).fill("8d");
		await press(page, create.act);
		await dialog.getByRole("alert").getByText(/7d/).waitFor();
		await dialog.getByLabel(create.window).fill("2d");
		await press(page, create.act);
		await stateOf(page, "failed").waitFor();
		const { errors, completion_window: time } = await read("faulty", await shownId(page));
		expect(time).toBe("2d");
		expect(errors!.data.map(({ line }) => line)).toContain(2);
		const rows = page.getByRole("table", { name: words.errors }).locator("tbody tr");
		expect(await rows.allInnerTexts()).toEqual(
			errors!.data.map(({ line, code, message }) => expect.stringMatching(textOf([line, code, message]))),
		);
		expect(await page.getByRole("progressbar").count()).toBe(0);
	});

	it("D57: an open batch is cancelled after a question", async () => {
		const id = await batchOf("stopped", await store("stopped", [lineOf("a", "until:stop")]));
		const page = await here.open({ at: `#/endpoints/stopped/batches/${id}` });
		await stateOf(page, "in_progress").waitFor();
		await press(page, words.cancel);
		await page.getByRole("dialog").getByText(words.cancelText).waitFor();
		await press(page, T.dismissCancel);
		expect((await read("stopped", id)).cancelling_at).toBeNull();
		await press(page, words.cancel);
		await page.getByRole("dialog").getByRole("button", { name: words.cancel, exact: true }).click();
		await page.getByRole("region", { name: words.times }).getByText(T.states.cancelling).waitFor();
		here.allow("stop");
		await stateOf(page, "cancelled").waitFor();
		expect(await page.getByRole("button", { name: words.cancel }).count()).toBe(0);
	});

	it("D57: without batches there are lines for a shell, which work when pasted", async () => {
		const page = await here.open({ at: "#/endpoints/empty/batches" });
		const snippet = await page.getByLabel(T.batches.snippet).innerText();
		// What is too long is scrolled within.
		expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
		const script = snippet.replace("export SLUICE_API_KEY=...", "");
		const env = { ...process.env, SLUICE_API_KEY: KEY };
		const { stdout } = await promisify(execFile)("sh", ["-ec", script], { env, cwd: here.folder.path });
		const batch = JSON.parse(stdout) as BatchObject;
		expect(batch).toMatchObject({ object: "batch", endpoint: "/v1/chat/completions", completion_window: "24h" });
		// The list follows what other clients create.
		await rowOf(page, batch.id).getByText(T.batches.of("0", "2")).waitFor();
	});

	it("D57: a list longer than a page leads to older batches and back", async () => {
		const file = await store("many", [lineOf("a", "hello")]);
		const ids: string[] = [];
		for (let number = 0; number <= 50; number += 1) ids.push(await batchOf("many", file, { number: String(number) }));
		const page = await here.open({ at: "#/endpoints/many/batches" });
		await rowOf(page, ids.at(-1)!).waitFor();
		expect(await rowOf(page, ids[0]!).count()).toBe(0);
		await press(page, T.batches.older);
		await rowOf(page, ids[0]!).waitFor();
		expect(await page.locator("tbody tr").count()).toBe(1);
		await press(page, T.requests.newest);
		await rowOf(page, ids.at(-1)!).getByRole("link").press("Enter");
		await page.locator(".job-id", { hasText: ids.at(-1)! }).waitFor();
		await page.getByRole("region", { name: words.metadata }).getByText("50").waitFor();
	});

	it("D30, D57: a key that reads sees batches, and changes none", async () => {
		const id = await batchOf("seen", await store("seen", [lineOf("a", "hello")]));
		const { key } = await here.key(["read"]);
		const page = await here.open({ key, at: "#/endpoints/seen/batches" });
		await rowOf(page, id).getByRole("link").click();
		await page.getByText(words.facts).waitFor();
		expect(await page.getByRole("button", { name: words.cancel }).count()).toBe(0);
		await backToList(page);
		await rowOf(page, id).waitFor();
		expect(await page.getByRole("button", { name: create.open }).count()).toBe(0);
	});
});

/** These texts in their order; null is shown as a dash. */
function textOf(parts: readonly (string | number | null)[]): RegExp {
	const escaped = parts.map((part) => RegExp.escape(String(part ?? "–")));
	return new RegExp(escaped.join(String.raw`\s+`));
}
