/** Workers that crash, in the console, in a real browser: why, what they wrote last, start now. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { goTo, noBrowser, press, rowOf, site, titled } from "./site.ts";

const CRASH = "console.error('cannot load model.safetensors'); process.exit(7)";

const crashing = (place: { folder: { path: string } }, name: string): object => ({
	launcher: { type: "process", command: [process.execPath, join(place.folder.path, name)] },
	workersMax: 1,
});

const here = site({
	endpoints: (place) => ({
		fine: place.stage(),
		broken: crashing(place, "broken.mjs"),
		repaired: crashing(place, "repaired.mjs"),
		alone: {},
	}),
});

const program = (name: string, code: string): void => writeFileSync(join(here.folder.path, name), code);

/** Waits until the pause of starts is so long, ms. */
async function paused(endpoint: string, ms: number): Promise<void> {
	await here.service.next("worker.failed", (facts) => facts.endpoint === endpoint && facts.retryMs >= ms);
}

describe.skipIf(noBrowser !== undefined)(titled("workers that crash in the console"), () => {
	it("B1: Try it and the job's page show the last lines, and lead to the whole log", async () => {
		program("broken.mjs", CRASH);
		const page = await here.open({ at: "#/endpoints/broken/try" });
		await press(page, T.try.send);
		const result = page.getByRole("region", { name: T.try.result });
		await result.getByText("cannot load model.safetensors").waitFor();
		await result.getByText("it ended with exit code 7 before it asked for a job").waitFor();
		await result.locator(".page-title a").click();
		const reason = page.locator(".reason");
		await reason.getByText("cannot load model.safetensors").waitFor();
		await reason.getByRole("link", { name: /Whole log of broken-/ }).click();
		await page.getByRole("log").getByText("cannot load model.safetensors").waitFor();
	});

	it("B1: the endpoint's page lists workers that have ended, with how and their last lines", async () => {
		const page = await here.open({ at: "#/endpoints/broken/workers" });
		await page.getByRole("heading", { name: T.ended.title }).waitFor();
		// Equal ends are one row; why there are no workers is said once.
		const [crashed, , hint] = [rowOf(page, "It ended with exit code 7"), 0, page.getByText(T.workers.onDemand)];
		await crashed
			.first()
			.getByText(/^\d+ times in/)
			.waitFor();
		expect([await crashed.count(), await hint.count()]).toEqual([1, 0]);
		const row = rowOf(page, "It ended with exit code 7 before it asked for a job.").first();
		await row.getByText(T.ended.lines).click();
		await row.getByText("cannot load model.safetensors").waitFor();
		await page.locator(".reason").getByText("cannot load model.safetensors").waitFor();
		await goTo(page, "#/workers");
		await rowOf(page, "It ended with exit code 7").first().getByText("broken-").first().waitFor();
	});

	it("the overview has the health of each endpoint, what needs attention first", async () => {
		const page = await here.open({ at: "#/overview" });
		await call(here.service.url, "/v2/alone/run", { body: { input: {} } });
		const attention = page.locator("section", { has: page.getByText(T.health.attention) });
		await attention.getByText(T.health.noWorkers).waitFor();
		await attention.getByText("cannot load model.safetensors").waitFor();
		await attention.getByText(/^\d+ times in/).waitFor();
		expect(await attention.getByRole("link", { name: T.health.connect }).getAttribute("href")).toBe(
			"#/endpoints/alone/connect",
		);
		const names = await page.locator("tbody .name-cell").allInnerTexts();
		expect(names.map((each) => each.split(/\s+/).join(" "))).toEqual([
			`broken ${T.health.crashing}`,
			`alone ${T.health.no_workers}`,
			`fine ${T.health.healthy}`,
			`repaired ${T.health.healthy}`,
		]);
		await call(here.service.url, "/v1/endpoints/fine/pause", { method: "POST" });
		await page.locator(".name-cell").getByText(T.health.paused, { exact: true }).waitFor();
		const id = await here.submit("fine", {});
		await attention.getByRole("button", { name: T.endpoint.resume }).click();
		await until(
			"it runs",
			async () => (await call(here.service.url, `/v2/fine/status/${id}`)).json.status === "COMPLETED",
		);
		await attention.getByRole("link", { name: T.health.log, exact: true }).click();
		const log = page.getByRole("log", { name: T.log.of("broken") });
		await log.getByText("cannot load model.safetensors").waitFor();
		const { height } = (await log.boundingBox())!;
		expect(height).toBeGreaterThan(page.viewportSize()!.height / 3);
	});

	it("D28: Start now starts the worker that was repaired, before the pause is over", async () => {
		program("repaired.mjs", CRASH);
		const long = paused("repaired", 8000);
		await here.submit("repaired", {});
		await long;
		const page = await here.open({ at: "#/endpoints/repaired/workers" });
		await page.locator(".reason").getByText(T.ended.nextStart).waitFor();
		program("repaired.mjs", "setInterval(() => {}, 1000)");
		const launched = here.service.next("worker.launched", ({ endpoint }) => endpoint === "repaired");
		await press(page, T.ended.startNow);
		await launched;
		await page.getByText(T.ended.startsNow).waitFor();
		await rowOf(page, T.states.initializing).waitFor();
		await until("no reason", async () => (await page.locator(".reason").count()) === 0);
	});

	it("a key without admin sees how workers ended, not what they wrote", async () => {
		const { key } = await here.key(["write"]);
		const page = await here.open({ key, at: "#/endpoints/broken/workers" });
		const row = rowOf(page, "It ended with exit code 7").first();
		await row.waitFor();
		expect(await page.getByText("cannot load model.safetensors").count()).toBe(0);
		expect(await page.getByRole("button", { name: T.ended.startNow }).count()).toBe(0);
	});
});
