/** Logs of workers in the console, in a real browser: times, colours, jobs, search, download. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { noBrowser, press, site, titled } from "./site.ts";

const CHATTY = fileURLToPath(new URL("../e2e/workers/chatty.ts", import.meta.url));

const here = site({
	endpoints: () => ({
		chatty: {
			launcher: { type: "process", command: [process.execPath, CHATTY] },
			workersMax: 1,
			idleTimeout: 300,
		},
	}),
});

const made = { alpha: "", beta: "", worker: "" };

async function say(word: string): Promise<{ id: string; workerId: string }> {
	const { json, text } = await call(here.service.url, "/v2/chatty/runsync?wait=20000", {
		body: { input: { say: word } },
	});
	expect(json.status, text).toBe("COMPLETED");
	return json;
}

beforeAll(async () => {
	if (noBrowser !== undefined) return;
	({ id: made.alpha, workerId: made.worker } = await say("alpha"));
	({ id: made.beta } = await say("beta"));
});

const searchFor = (page: Page, text: string): Promise<void> => page.getByLabel(T.log.search).fill(text);

describe.skipIf(noBrowser !== undefined)(titled("logs in the console"), () => {
	it("B14: colours are colours, progress bars show their last state, lines have times", async () => {
		const page = await here.open({ at: `#/endpoints/chatty/workers/${made.worker}` });
		const log = page.getByRole("log");
		const coloured = log.locator(".ansi-green", { hasText: "alpha" });
		await coloured.waitFor();
		expect(await coloured.innerText()).toBe("alpha");
		await log.getByText("100%", { exact: true }).first().waitFor();
		const text = await log.innerText();
		expect(text).not.toMatch(/10%|60%|\[32m|title/);
		expect(text).toMatch(/\d\d:\d\d:\d\d\.\d{3}\s+up as chatty-/);
	});

	it("what a job's worker wrote to its standard output is among the lines of that job", async () => {
		const page = await here.open({ at: `#/endpoints/chatty/requests/${made.beta}` });
		const log = page.getByRole("log");
		await log.getByText("beta on stderr").waitFor();
		await log.locator(".ansi-green", { hasText: "beta" }).waitFor();
		expect(await log.innerText()).not.toMatch(/alpha|up as/);
	});

	it("B14: a search finds lines in all that is kept, of ended workers too", async () => {
		const { endpoint } = await new Promise<{ endpoint: string }>((resolve) => {
			const off = here.service.events.on("worker.exited", (facts) => {
				off();
				resolve(facts);
			});
			void call(here.service.url, `/v1/endpoints/chatty/workers/${made.worker}/stop`, {
				method: "POST",
			});
		});
		expect(endpoint).toBe("chatty");
		const { workerId } = await say("gamma");
		const page = await here.open({ at: `#/endpoints/chatty/workers/${workerId}` });
		await page.getByRole("log").getByText("gamma on stderr").waitFor();
		await searchFor(page, "ALPHA ON");
		await page.getByText(T.log.hits(0)).waitFor();
		await page.getByText(T.log.everyWorker, { exact: true }).click();
		const hits = page.getByRole("region", { name: T.log.search });
		await hits.getByText("alpha on stderr").waitFor();
		await page.getByText(T.log.hits(1)).waitFor();
		await hits.getByRole("link", { name: made.worker }).click();
		await page.getByRole("heading", { name: T.log.of(made.worker) }).waitFor();
		await page.getByRole("log").getByText("alpha on stderr").waitFor();
	});

	it("the whole log is downloaded, without escape sequences", async () => {
		const page = await here.open({ at: `#/endpoints/chatty/workers/${made.worker}` });
		await page.getByRole("log").getByText("alpha on stderr").waitFor();
		const downloading = page.waitForEvent("download");
		await press(page, T.log.download);
		const download = await downloading;
		expect(download.suggestedFilename()).toBe(`${made.worker}.log`);
		const text = readFileSync(await download.path(), "utf8");
		expect(text).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z up as chatty-/);
		expect(text).toMatch(/Z alpha\n\S+ 100%\n/);
		// oxlint-disable-next-line no-control-regex
		expect(text).not.toMatch(/[\u001b\r\u0007]/);
	});
});
