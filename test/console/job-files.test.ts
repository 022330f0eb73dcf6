/** Files that the worker of a job stored, in a real browser (D60). */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
// @ts-expect-error A starter is plain JavaScript.
import { png } from "../../starters/image/png.js";
import { freePort } from "../support/free-port.ts";
import { call } from "../support/service.ts";
import { NARROW, noBrowser, rowOf, site, titled } from "./site.ts";

const WORKER = fileURLToPath(new URL("../spec/client/job-files/storing-worker.ts", import.meta.url));

const port = await freePort();
const launcher = { type: "process", command: [process.execPath, WORKER] };
const here = site({
	// The page is opened at another name than that of the links.
	settings: { publicUrl: `http://localhost:${port}` },
	port,
	endpoints: () => ({
		pictures: { launcher, files: true, limits: "off" },
		plain: { launcher, limits: "off" },
	}),
});

async function ran(endpoint: string, input: object): Promise<string> {
	const { json } = await call(here.service.url, `/v2/${endpoint}/run`, { body: { input } });
	for (;;) {
		const { status } = (await call(here.service.url, `/v2/${endpoint}/status-sync/${json.id}`)).json;
		if (status === "COMPLETED") return json.id as string;
		expect(status).toMatch(/^IN_/);
	}
}

const pixels = Buffer.alloc(8 * 8 * 3, 120);
const picture: Buffer = Buffer.from(png({ width: 8, height: 8, pixels }));

describe.skipIf(noBrowser !== undefined)(titled("files of a job in the console"), () => {
	it("D60: pictures are shown, and each file has its name, size, type and link", async () => {
		const job = await ran("pictures", { name: "out/heron.png", base64: picture.toString("base64") });
		const page = await here.open({ at: `#/endpoints/pictures/requests/${job}` });
		await page.getByRole("img", { name: T.jobFiles.picture("out/heron.png") }).waitFor();
		await expect.poll(() => page.evaluate("document.querySelector('.media img')?.naturalWidth")).toBe(8);
		const row = rowOf(page, "out/heron.png");
		await row.getByText("image/png").waitFor();
		const link = await row.getByRole("link", { name: "out/heron.png" }).getAttribute("href");
		expect(link).toMatch(new RegExp(`^${here.service.url}/s3/`));
		const content = Buffer.from(await (await fetch(link!)).arrayBuffer());
		expect(content.equals(picture)).toBe(true);
		await row.getByRole("button", { name: T.jobFiles.copyLink("out/heron.png") }).waitFor();
		await page.getByText(T.jobFiles.links).waitFor();
	});

	it("D60: a job without files says how a worker stores some", async () => {
		const job = await ran("pictures", {});
		const page = await here.open({ at: `#/endpoints/pictures/requests/${job}`, width: NARROW });
		await page.getByText(T.jobFiles.none).waitFor();
		await page.getByLabel(T.jobFiles.snippet).getByText("files.put").waitFor();
		const overflows = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
		expect(overflows).toBe(false);
	});

	it("D60: where the endpoint has no files, a fold says which setting it needs", async () => {
		const job = await ran("plain", {});
		const page = await here.open({ at: `#/endpoints/plain/requests/${job}` });
		await page.locator("summary").getByText(T.jobFiles.title, { exact: true }).click();
		await page.getByText(T.jobFiles.off).waitFor();
		await page.getByLabel(T.jobFiles.setting).getByText("files: true").waitFor();
	});
});
