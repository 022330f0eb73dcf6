/**
 * Endpoints in the console, in a real browser: made, paused, changed, purged, deleted; and their
 * workers stopped.
 */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text.ts";
import { call } from "../support/service.ts";
import { goTo, noBrowser, press, rowOf, site, titled } from "./site.ts";

const here = site({ endpoints: (place) => ({ work: place.stage(), waiting: { name: "Waits" } }) });

async function settingsOf(endpoint: string): Promise<any> {
	return (await call(here.service.url, `/v1/endpoints/${endpoint}`)).json;
}

/** Chooses in a field that opens a list. */
async function choose(page: Page, field: string, choice: string): Promise<void> {
	await page.getByRole("button", { name: field }).click();
	await page.getByRole("option", { name: choice }).click();
}

describe.skipIf(noBrowser !== undefined)(titled("endpoints in the console"), () => {
	it("one is made, with its errors shown at their fields, and runs a job", async () => {
		const page = await here.open({ forgive: /status of 400/ });
		await press(page, T.newEndpoint.open);
		await page.getByLabel(T.newEndpoint.id, { exact: true }).fill("no spaces");
		await press(page, T.newEndpoint.create);
		await page
			.getByRole("dialog")
			.getByText("must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.")
			.first()
			.waitFor();
		expect(
			await page.getByLabel(T.newEndpoint.id, { exact: true }).getAttribute("aria-invalid"),
		).toBe("true");
		await page.getByLabel(T.newEndpoint.id, { exact: true }).fill("made-here");
		await page.getByLabel(T.newEndpoint.name, { exact: true }).fill("Made here");
		const { command } = (here.stage() as { launcher: { command: string[] } }).launcher;
		await page
			.getByLabel("Command", { exact: true })
			.fill(command.map((word) => `"${word}"`).join(" "));
		await press(page, T.newEndpoint.create);
		await page.getByRole("heading", { name: "Made here" }).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/made-here/try");
		expect(await settingsOf("made-here")).toMatchObject({
			name: "Made here",
			launcher: { type: "process", command },
		});
		await page.getByLabel(T.try.input).fill('{"output": "hello from a new endpoint"}');
		await press(page, T.try.send);
		await page
			.getByRole("region", { name: T.try.result })
			.getByText("hello from a new endpoint")
			.waitFor();
	});

	it("one whose workers are started elsewhere says how to attach them", async () => {
		const page = await here.open();
		await press(page, T.newEndpoint.open);
		await page.getByLabel(T.newEndpoint.id, { exact: true }).fill("elsewhere");
		await choose(page, T.newEndpoint.launcher, "Started elsewhere");
		await press(page, T.newEndpoint.create);
		await page.getByText("npx sluice worker-env elsewhere").waitFor();
	});

	it("D29: paused, its jobs wait and say so; resumed, they are handed out", async () => {
		const page = await here.open({ at: "#/endpoints/work/charts" });
		await press(page, T.endpoint.pause);
		await page.getByText(T.endpoint.pausedNow).waitFor();
		await page.locator(".page-title").getByText(T.paused, { exact: true }).waitFor();
		expect(await settingsOf("work")).toMatchObject({ paused: true });
		const id = await here.submit("work", {});
		await goTo(page, `#/endpoints/work/requests/${id}`);
		await page.locator(".reason").getByText("paused", { exact: true }).waitFor();
		await press(page, T.endpoint.resume);
		await page.locator(".job-head .status", { hasText: T.states.COMPLETED }).waitFor();
	});

	it("its settings are saved; a bad value is refused with its bounds, by the form and by the service", async () => {
		const page = await here.open({ at: "#/endpoints/waiting/settings", forgive: /status of 400/ });
		const idle = page.getByLabel(T.settings.names.idleTimeout);
		await idle.fill("9999");
		await page.getByText(T.settings.faults.bounds(1, 3600)).waitFor();
		expect(
			await page.getByRole("button", { name: T.settings.save, exact: true }).isDisabled(),
		).toBe(true);
		await idle.fill("42");
		await page.getByLabel(T.settings.names.workersMin).fill("9");
		await press(page, T.settings.save);
		await page.getByRole("alert").getByText("workersMin", { exact: true }).waitFor();
		const field = page.locator(".field", { has: page.getByLabel(T.settings.names.workersMin) });
		await field.locator(".fault").waitFor();
		expect(await settingsOf("waiting")).toMatchObject({ idleTimeout: 5 });
		await page.getByLabel(T.settings.names.workersMin).fill("0");
		await press(page, T.settings.save);
		await page.getByText(T.settings.saved).waitFor();
		expect(await settingsOf("waiting")).toMatchObject({ idleTimeout: 42, workersMin: 0 });
	});

	it("values of its environment are sent and never shown", async () => {
		const page = await here.open({ at: "#/endpoints/waiting/settings" });
		await page.getByLabel(T.env.name, { exact: true }).last().fill("MODEL_TOKEN");
		await page.getByLabel(T.env.value, { exact: true }).fill("hidden-value-123");
		await press(page, T.env.add);
		await page.getByText("MODEL_TOKEN").waitFor();
		expect(await page.getByLabel(T.env.value, { exact: true }).inputValue()).toBe("");
		expect(await page.content()).not.toContain("hidden-value-123");
		expect(await settingsOf("waiting")).toMatchObject({ env: ["MODEL_TOKEN"] });
	});

	it("D11: a purge asks first, shows how many wait, and removes them", async () => {
		const ids = [await here.submit("waiting", {}), await here.submit("waiting", {})];
		const page = await here.open({ at: "#/endpoints/waiting/requests" });
		await rowOf(page, ids[1]!.slice(-12)).waitFor();
		await press(page, T.endpoint.purge);
		await page.getByRole("dialog").getByText(T.endpoint.purgeText("2", "Waits")).waitFor();
		await press(page, T.dismiss);
		expect((await call(here.service.url, "/v2/waiting/health")).json.jobs.inQueue).toBe(2);
		await press(page, T.endpoint.purge);
		await page.getByRole("dialog").getByRole("button", { name: T.endpoint.purge }).click();
		await page.getByText(T.endpoint.purged("2")).waitFor();
		await page.getByText(T.requests.none).waitFor();
		expect((await call(here.service.url, "/v2/waiting/health")).json.jobs.inQueue).toBe(0);
	});

	it("an idle worker is stopped, after a question", async () => {
		await here.ended("work", {});
		const page = await here.open({ at: "#/endpoints/work/workers" });
		const { workers } = (await call(here.service.url, "/v1/endpoints/work/workers")).json as {
			workers: { id: string }[];
		};
		const id = workers[0]!.id;
		const exited = here.service.next("worker.exited", ({ worker }) => worker === id);
		await rowOf(page, id).getByRole("button", { name: T.workers.stop }).click();
		await press(page, T.workers.stop);
		await exited;
		await page.getByText(T.workers.none).waitFor();
	});

	it("D45: how far the pull of its image is stands above its workers, and moves", async () => {
		const page = await here.open({ at: "#/endpoints/waiting/charts" });
		let loads = 0;
		await page.route("**/v1/endpoints/work", async (route) => {
			const progress = (loads += 1) > 2 ? 71 : 43;
			const reason = { code: "image_pull", message: "Pulling image a:1.", progress };
			await route.fulfill({ json: { ...(await (await route.fetch()).json()), reason } });
		});
		await goTo(page, "#/endpoints/work/workers");
		await page.getByText("Pulling image a:1, 43 %.").waitFor();
		await page.getByText("Pulling image a:1, 71 %.").waitFor();
	});

	it("a webhook that failed is sent again", async () => {
		const id = await here.submit("waiting", {}, { webhook: "http://127.0.0.1:1/" });
		const over = here.service.next("webhook.failed", ({ retryMs }) => retryMs === undefined);
		await call(here.service.url, `/v2/waiting/cancel/${id}`, { method: "POST" });
		await over;
		const page = await here.open({ at: `#/endpoints/waiting/requests/${id}` });
		await press(page, T.webhooks.redeliver);
		await page.getByText(T.webhooks.sent).waitFor();
		await goTo(page, "#/webhooks?state=failed");
		await rowOf(page, id.slice(-12)).waitFor();
	});

	it("deleting asks for its id", async () => {
		const { status } = await call(here.service.url, "/v1/endpoints", {
			body: { id: "short-lived" },
		});
		expect(status).toBe(201);
		const page = await here.open({
			at: "#/endpoints/short-lived/settings",
			forgive: /status of 404/,
		});
		await press(page, T.settings.delete);
		const act = page.getByRole("dialog").getByRole("button", { name: T.settings.delete });
		expect(await act.isDisabled()).toBe(true);
		await page.getByLabel(T.typeToConfirm("short-lived")).fill("short-lived");
		await act.click();
		await page.getByRole("heading", { name: T.pages.overview }).waitFor();
		expect(await page.getByRole("link", { name: "short-lived" }).count()).toBe(0);
		expect((await call(here.service.url, "/v1/endpoints/short-lived")).status).toBe(404);
	});
});
