/** Files of an endpoint in a real browser (D56): uploaded, previewed, downloaded, deleted. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call, KEY } from "../support/service.ts";
import { noBrowser, press, rowOf, site, titled } from "./site.ts";

const PICTURE = fileURLToPath(new URL("../../examples/pictures/page.png", import.meta.url));

const here = site({ endpoints: () => ({ work: {}, empty: {}, seen: {} }) });

const upload = (page: Page, file: string | { name: string; mimeType: string; buffer: Buffer }): Promise<void> =>
	page.getByLabel(T.files.choose).setInputFiles(file);

describe.skipIf(noBrowser !== undefined)(titled("files in the console"), () => {
	it("D56: a picture and a text are uploaded, previewed, downloaded and deleted", async () => {
		const page = await here.open({ at: "#/endpoints/work/files" });
		await upload(page, PICTURE);
		await page.getByText(T.files.uploaded("page.png")).first().waitFor();
		await rowOf(page, "page.png")
			.getByRole("button", { name: `${T.files.open} page.png` })
			.click();
		await page.getByRole("img", { name: T.files.picture("page.png") }).waitFor();
		const width = (): Promise<unknown> => page.evaluate("document.querySelector('img.file-preview')?.naturalWidth");
		await expect.poll(width).toBeGreaterThan(0);
		await press(page, T.close);
		const lines = Buffer.from('{"custom_id":"1"}\n'.repeat(10_000));
		await upload(page, { name: "lines.jsonl", mimeType: "", buffer: lines });
		await rowOf(page, "lines.jsonl").getByText("batch").waitFor();
		await rowOf(page, "lines.jsonl")
			.getByRole("button", { name: `${T.files.open} lines.jsonl` })
			.click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText(T.files.cut("64 kB")).waitFor();
		await dialog.getByText('{"custom_id":"1"}').first().waitFor();
		await press(page, T.close);
		const saved = page.waitForEvent("download");
		await rowOf(page, "page.png")
			.getByRole("button", { name: `${T.files.download} page.png` })
			.click();
		const download = await saved;
		expect(download.suggestedFilename()).toBe("page.png");
		expect(readFileSync(await download.path()).equals(readFileSync(PICTURE))).toBe(true);
		await rowOf(page, "page.png")
			.getByRole("button", { name: `${T.files.remove} page.png` })
			.click();
		await page.getByRole("dialog").getByText(T.files.removeText("page.png")).waitFor();
		await press(page, T.files.remove);
		await rowOf(page, "page.png").waitFor({ state: "detached" });
		const { data } = (await call(here.service.url, "/v2/work/openai/v1/files")).json;
		expect(data.map(({ filename }: { filename: string }) => filename)).toEqual(["lines.jsonl"]);
	});

	it("D56: without files there is a line for a shell, which works when pasted", async () => {
		const page = await here.open({ at: "#/endpoints/empty/files" });
		const snippet = await page.getByLabel(T.files.snippet).innerText();
		const script = snippet.replace("export SLUICE_API_KEY=...", "");
		const env = { ...process.env, SLUICE_API_KEY: KEY };
		const { stdout } = await promisify(execFile)("sh", ["-ec", script], { env });
		expect(JSON.parse(stdout)).toMatchObject({ object: "file", filename: "hello.txt", bytes: 5 });
		await page.reload();
		await rowOf(page, "hello.txt").waitFor();
	});

	it("D30, D56: a key that reads sees files, and changes none; what cannot be shown is not", async () => {
		const form = new FormData();
		form.append("purpose", "user_data");
		form.append("file", new File(["<svg/>"], "a.svg", { type: "image/svg+xml" }));
		const headers = { authorization: `Bearer ${KEY}` };
		await fetch(`${here.service.url}/v2/seen/openai/v1/files`, { method: "POST", headers, body: form });
		const { key } = await here.key(["read"]);
		const page = await here.open({ key, at: "#/endpoints/seen/files" });
		await rowOf(page, "a.svg")
			.getByRole("button", { name: `${T.files.open} a.svg` })
			.click();
		await page.getByText(T.files.noPreview).waitFor();
		await press(page, T.close);
		expect(await page.getByRole("button", { name: T.files.upload }).count()).toBe(0);
		expect(await page.getByRole("button", { name: `${T.files.remove} a.svg` }).count()).toBe(0);
	});
});
