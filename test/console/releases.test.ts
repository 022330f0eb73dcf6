/** Versions of an endpoint in the console, in a real browser: what each changed, and the way back (D50). */
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { goTo, noBrowser, rowOf, site, titled } from "./site.ts";

const here = site({ endpoints: (place) => ({ changed: place.stage(), compared: place.stage({ workersMin: 1 }) }) });

describe.skipIf(noBrowser !== undefined)(titled("versions of an endpoint in the console"), () => {
	it("D50: lists what each changed without values of variables, and rolls back", async () => {
		const { url } = here.service;
		const change = { method: "PATCH", body: { env: { TOKEN: "a secret value" } } };
		expect((await call(url, "/v1/endpoints/changed", change)).status).toBe(200);
		const page = await here.open({ at: "#/endpoints/changed/workers" });
		const section = page.getByRole("region", { name: T.releases.title });
		await section.getByText("env.TOKEN").waitFor();
		expect(await section.getByText("a secret value").count()).toBe(0);
		const first = rowOf(page, T.releases.first);
		await first.getByRole("button", { name: T.releases.back }).click();
		await page.getByRole("dialog").getByRole("button", { name: T.releases.back }).click();
		await until("version 3", async () => (await call(url, "/v1/endpoints/changed")).json.version === 3);
		await section.getByText(T.releases.current).waitFor();
	});

	it("D50: compares the jobs of the current version with those of the one before, in numbers and words", async () => {
		const { url } = here.service;
		const work = async (completed: number, failed: number): Promise<void> => {
			for (let n = 0; n < completed; n += 1) await here.ended("compared", {});
			for (let n = 0; n < failed; n += 1) await here.ended("compared", { fail: "no" });
		};
		await work(9, 1);
		const change = { method: "PATCH", body: { env: { STAGE: here.folder.path, N: "2" } } };
		expect((await call(url, "/v1/endpoints/compared", change)).status).toBe(200);
		const title = T.releases.compared(2, 1);
		const page = await here.open({ at: "#/endpoints/compared/workers" });
		const comparison = page.getByRole("region", { name: title });
		await comparison.getByText(T.releases.noJobs).waitFor();
		await until("the worker of version 2", async () => {
			const { workers } = (await call(url, "/v1/endpoints/compared/releases")).json;
			return workers.current === 1 && workers.all === 1;
		});
		await work(2, 1);
		await comparison.getByText("3.3 times as many failures").waitFor();
		const cells = (name: string): Promise<string[]> =>
			comparison.getByRole("row", { name }).getByRole("cell").allInnerTexts();
		expect(await cells(T.overview.errors)).toEqual([T.overview.errors, "10 %", "33.3 %", "3.3 times as many failures"]);
		expect(await cells(T.overview.ended)).toEqual([T.overview.ended, "10", "3", "–"]);
		const id = await here.ended("compared", {});
		await goTo(page, `#/endpoints/compared/requests/${id}`);
		const facts = page.getByRole("region", { name: T.job.facts });
		await facts.getByText(T.releases.version, { exact: true }).waitFor();
		expect(await facts.locator("dd").last().innerText()).toBe("2");
	});
});
