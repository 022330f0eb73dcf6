/**
 * Endpoints in the console, in a real browser: made, paused, changed, purged, deleted; and their
 * workers stopped.
 */
import { hostname } from "node:os";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { T } from "../../console/src/text/text.ts";
import { call } from "../support/service.ts";
import { goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const here = site({
	endpoints: (place) => ({ work: place.stage(), waiting: { name: "Waits", webhooks: { schedule: [] } } }),
	settings: { webhooks: { allowPrivateNetworks: true } },
});

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
		const dialog = page.getByRole("dialog");
		// What is missing is said once, in the words of the field.
		await dialog.getByText(T.settings.faults.required("node worker.js")).waitFor();
		await page.getByRole("textbox", { name: /^Command/ }).fill("node worker.js");
		await page.getByLabel("Folder").fill("/nowhere/at/all");
		await press(page, T.newEndpoint.create);
		const refused = "must be 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.";
		await dialog.getByText(refused).waitFor();
		expect(await dialog.getByText(refused).count()).toBe(1);
		expect(await page.getByLabel(T.newEndpoint.id, { exact: true }).getAttribute("aria-invalid")).toBe("true");
		await page.getByLabel(T.newEndpoint.id, { exact: true }).fill("made-here");
		await press(page, T.newEndpoint.create);
		await dialog.getByText("'/nowhere/at/all' is not there").waitFor();
		await page.getByLabel("Folder").fill("");
		await page.getByLabel(T.newEndpoint.name, { exact: true }).fill("Made here");
		const { command } = (here.stage() as { launcher: { command: string[] } }).launcher;
		await page.getByRole("textbox", { name: /^Command/ }).fill(command.map((word) => `"${word}"`).join(" "));
		await press(page, T.newEndpoint.create);
		await page.getByRole("heading", { name: "Made here" }).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/made-here/try");
		expect(await settingsOf("made-here")).toMatchObject({
			name: "Made here",
			launcher: { type: "process", command },
		});
		await page.getByLabel(T.try.input).fill('{"output": "hello from a new endpoint"}');
		await press(page, T.try.send);
		await page.getByRole("region", { name: T.try.result }).getByText("hello from a new endpoint").waitFor();
	});

	it("one whose workers are started elsewhere says how to attach them", async () => {
		const page = await here.open();
		await press(page, T.newEndpoint.open);
		await page.getByLabel(T.newEndpoint.id, { exact: true }).fill("elsewhere");
		await choose(page, T.newEndpoint.launcher, "Started elsewhere");
		await press(page, T.newEndpoint.create);
		await page.getByText(T.connect.external).waitFor();
		await goTo(page, "#/endpoints/elsewhere/workers");
		await page.getByRole("link", { name: T.connect.workers }).click();
		await page.getByLabel(T.connect.address).fill("http://192.0.2.7:8080");
		await press(page, T.connect.token);
		await page.getByText(T.connect.once).waitFor();
		const lines = page.getByRole("tabpanel", { name: "docker run" });
		const text = (await lines.locator("pre").textContent())!;
		expect(text).toContain("http://192.0.2.7:8080/worker/elsewhere/job-take/$ID");
		expect(text).not.toContain("--network host");
		// The token is good for a worker of any id.
		const token = /RUNPOD_AI_API_KEY=(\w+)/.exec(text)![1]!;
		const job = await here.submit("elsewhere", {});
		const taken = await fetch(`${here.service.url}/worker/elsewhere/job-take/any-id`, {
			headers: { Authorization: token },
		});
		expect(((await taken.json()) as { id: string }).id).toBe(job);
		for (const way of ["Compose", "Shell", "Kubernetes"]) {
			await page.getByRole("tab", { name: way }).click();
			await page.getByRole("tabpanel", { name: way }).getByText(token).waitFor();
		}
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

	it("its changes are shown before they are saved; a bad value is refused by form and service", async () => {
		const page = await here.open({ at: "#/endpoints/waiting/settings", forgive: /status of 400/ });
		const field = (name: string): ReturnType<Page["getByLabel"]> => page.getByLabel(name).first();
		const idle = field(T.settings.names.idleTimeout);
		expect(await idle.inputValue()).toBe("5 s");
		await idle.fill("2 h");
		await page.getByText(T.settings.faults.bounds("1 s", "1 h")).waitFor();
		expect(await page.getByRole("button", { name: T.settings.save, exact: true }).isDisabled()).toBe(true);
		await idle.fill("1 min 30 s");
		await field(T.settings.names.workersMin).fill("9");
		const bar = page.getByRole("region", { name: T.settings.unsaved });
		await bar.getByText(T.settings.changed(2)).waitFor();
		await press(page, T.settings.review);
		const row = page.getByRole("dialog").locator("tr", { hasText: "idleTimeout" });
		expect(await row.locator("td").allTextContents()).toEqual(["5 s", "1 min 30 s"]);
		await press(page, T.settings.changes.save);
		const wrong = page.locator(".field", { has: field(T.settings.names.workersMin) });
		await wrong.locator(".fault").waitFor();
		// One message, at the field, which has the focus.
		expect(await page.getByRole("alert").count()).toBe(0);
		expect(await page.evaluate("document.activeElement.ariaInvalid ?? ''")).toBe("true");
		expect(await settingsOf("waiting")).toMatchObject({ idleTimeout: 5 });
		await field(T.settings.names.workersMin).fill("0");
		await page.locator(".field.marked", { has: idle }).waitFor();
		// The bar is in the window wherever the page is scrolled to.
		const sections = page.getByRole("navigation", { name: T.settings.sections });
		await sections.getByRole("link", { name: T.settings.groups.jobs, exact: true }).click();
		await expect.poll(() => page.evaluate("scrollY")).toBeGreaterThan(100);
		const { y, height } = (await bar.boundingBox())!;
		expect([y > 0, y + height < page.viewportSize()!.height]).toEqual([true, true]);
		await press(page, T.settings.save);
		await page.getByText(T.settings.saved).waitFor();
		await bar.waitFor({ state: "detached" });
		expect(await settingsOf("waiting")).toMatchObject({ idleTimeout: 90, workersMin: 0 });
	});

	it("a preset fills the fields of scaling, which are saved as any others", async () => {
		const page = await here.open({ at: "#/endpoints/waiting/settings" });
		const presets = page.getByRole("group", { name: T.settings.presets.title });
		await presets.waitFor();
		const reloads = Promise.withResolvers<void>();
		await page.route("**/v1/endpoints/waiting", async (route) => {
			// What was saved is shown before the page has loaded the endpoint again.
			if (route.request().method() === "GET") await reloads.promise;
			await route.continue();
		});
		const chosen = (): Promise<string[]> => presets.locator("[aria-pressed=true] b").allTextContents();
		await presets.getByRole("button", { name: T.settings.presets.burst.title }).click();
		expect(await chosen()).toEqual([T.settings.presets.burst.title]);
		const bar = page.getByRole("region", { name: T.settings.unsaved });
		await bar.getByText("scalerType, scalerValue").waitFor();
		await press(page, T.settings.save);
		await page.getByText(T.settings.saved).waitFor();
		expect(await settingsOf("waiting")).toMatchObject({ scalerType: "REQUEST_COUNT", scalerValue: 1, idleTimeout: 60 });
		await presets.getByRole("button", { name: T.settings.presets.zero.title }).click();
		await press(page, T.settings.save);
		await bar.waitFor({ state: "detached" });
		expect(await settingsOf("waiting")).toMatchObject({ scalerType: "QUEUE_DELAY", scalerValue: 4, idleTimeout: 5 });
		expect(await chosen()).toEqual([T.settings.presets.zero.title]);
		// The same time in other words is the same preset, another time none.
		const idle = page.getByLabel(T.settings.names.idleTimeout).first();
		await idle.fill("5000 ms");
		expect(await chosen()).toEqual([T.settings.presets.zero.title]);
		await idle.fill("6 s");
		expect(await chosen()).toEqual([]);
		reloads.resolve();
	});

	it("the list of sections marks the one in view, and the one that it has led to", async () => {
		const page = await here.open({ at: "#/endpoints/work/settings" });
		const sections = page.getByRole("navigation", { name: T.settings.sections });
		const current = sections.locator("[aria-current=location]");
		const { groups, secret } = T.settings;
		await expect.poll(() => current.allTextContents()).toEqual([groups.about]);
		await page.evaluate("document.querySelector('#section-jobs').scrollIntoView()");
		await expect.poll(() => current.allTextContents()).toEqual([groups.jobs]);
		await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
		await expect.poll(() => current.allTextContents()).toEqual([T.settings.delete]);
		// It is too near to the end to be at the top of the window.
		await sections.getByRole("link", { name: secret, exact: true }).click();
		await expect.poll(() => current.allTextContents()).toEqual([secret]);
		await page.evaluate("scrollTo(0, 0)");
		await expect.poll(() => current.allTextContents()).toEqual([groups.about]);
	});

	it("its launcher is a form, its limits are a table, which can be switched off", async () => {
		const { status } = await call(here.service.url, "/v1/endpoints", {
			body: { id: "formed", limits: { run: { per10s: 5 } } },
		});
		expect(status).toBe(201);
		const page = await here.open({ at: "#/endpoints/formed/settings" });
		await choose(page, T.newEndpoint.launcher, "A container");
		await page.getByRole("textbox", { name: /^Image/ }).fill("my-worker:1.0");
		await press(page, T.settings.moreOf(0));
		await page.getByLabel("Volumes").fill("models:/runpod-volume");
		const limit = (name: string): ReturnType<Page["getByLabel"]> => page.getByLabel(name, { exact: true });
		expect(await limit(`run: ${T.settings.limits.per10s}`).inputValue()).toBe("5");
		await limit(`run: ${T.settings.limits.per10s}`).fill("");
		await limit(`cancel: ${T.settings.limits.concurrent}`).fill("off");
		await press(page, T.settings.save);
		await page.getByRole("dialog").getByText(T.settings.changes.replacing).waitFor();
		await press(page, T.settings.changes.save);
		await page.getByText(T.settings.saved).waitFor();
		expect(await settingsOf("formed")).toMatchObject({
			launcher: { type: "docker", image: "my-worker:1.0", volumes: ["models:/runpod-volume"] },
			limits: { cancel: { concurrent: "off" } },
		});
		await page.getByText(T.settings.limits.on).click();
		await press(page, T.settings.save);
		await expect.poll(async () => (await settingsOf("formed")).limits).toBe("off");
	});

	it("it is duplicated with values for its variables, and exported as YAML that the service reads", async () => {
		const made = await call(here.service.url, "/v1/endpoints", {
			body: { id: "original", workersMax: 7, env: { TOKEN: "secret-1", OTHER: "2" } },
		});
		expect(made.status).toBe(201);
		const page = await here.open({ at: "#/endpoints/original/settings" });
		await press(page, T.settings.copies.yaml);
		const yaml = (await page.getByRole("dialog").locator("pre").textContent())!;
		const { endpoints } = parse(yaml) as { endpoints: Record<string, object> };
		expect(endpoints).toEqual({ original: { workersMax: 7, env: { TOKEN: "", OTHER: "" } } });
		await page.keyboard.press("Escape");
		await press(page, T.settings.copies.duplicate);
		await page.getByRole("dialog").getByLabel("TOKEN").fill("secret-2");
		await press(page, T.settings.copies.create);
		await page.waitForURL(/original-copy/);
		expect(await settingsOf("original-copy")).toMatchObject({ workersMax: 7, env: ["TOKEN"] });
	});

	it("a variable that is added leaves the page where it is", async () => {
		const page = await here.open({ at: "#/endpoints/waiting/settings" });
		await page.getByLabel(T.env.name, { exact: true }).last().fill("PLACE");
		await page.getByLabel(T.env.value, { exact: true }).fill("1");
		const top = (): Promise<number> =>
			page.evaluate<number>("document.querySelector('form.card').getBoundingClientRect().top");
		const add = page.getByRole("button", { name: T.env.add, exact: true });
		await add.scrollIntoViewIfNeeded();
		const before = await top();
		await add.click();
		await page.getByText("PLACE", { exact: true }).waitFor();
		await page.getByText(T.settings.saved).waitFor();
		// What the page does about it, it does in the next frames.
		await page.evaluate("new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))");
		expect(Math.abs((await top()) - before)).toBeLessThan(5);
	});

	it("values of its environment are sent and never shown", async () => {
		const page = await here.open({ at: "#/endpoints/waiting/settings" });
		await page.getByLabel(T.env.name, { exact: true }).last().fill("MODEL_TOKEN");
		await page.getByLabel(T.env.value, { exact: true }).fill("hidden-value-123");
		await press(page, T.env.add);
		await page.getByText("MODEL_TOKEN").waitFor();
		expect(await page.getByLabel(T.env.value, { exact: true }).inputValue()).toBe("");
		expect(await page.content()).not.toContain("hidden-value-123");
		expect((await settingsOf("waiting")).env).toContain("MODEL_TOKEN");
	});

	it("D11: a purge asks first, shows how many wait, and removes them", async () => {
		const ids = [await here.submit("waiting", {}), await here.submit("waiting", {})];
		const page = await here.open({ at: "#/endpoints/waiting/requests" });
		await rowOf(page, tail(ids[1]!)).waitFor();
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

	it("D48: a worker shows its machine and what it uses there; an idle one is stopped, after a question", async () => {
		await here.ended("work", {});
		const page = await here.open({ at: "#/endpoints/work/workers" });
		const { workers } = (await call(here.service.url, "/v1/endpoints/work/workers")).json as {
			workers: { id: string }[];
		};
		const id = workers[0]!.id;
		// Where it runs and what it uses; processor time from the second reading on.
		await rowOf(page, id).getByText(hostname(), { exact: true }).waitFor();
		await rowOf(page, id)
			.getByText(/^(?:[\d.]+ CPU|CPU idle), [\d.]+ MB memory/)
			.waitFor();
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
		// A click on the row, and its button for the keyboard, show all attempts and what was sent.
		await rowOf(page, tail(id)).locator("td").nth(2).click();
		const detail = page.getByRole("dialog", { name: T.webhooks.detail });
		await detail.locator(".attempts li").first().waitFor();
		await detail.getByText("CANCELLED").first().waitFor();
		await page.keyboard.press("Escape");
		await detail.waitFor({ state: "detached" });
		await rowOf(page, tail(id)).getByRole("button", { name: T.webhooks.open }).press("Enter");
		await detail.getByText(id).first().waitFor();
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
