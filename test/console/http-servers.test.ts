/** Endpoints of HTTP servers in a real browser: made, described, tried, with jobs that were returned. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { httpEndpoints } from "../spec/http/http-endpoints.ts";
import { call } from "../support/service.ts";
import { goTo, NARROW, noBrowser, press, site, titled } from "./site.ts";
import { silence } from "./workers/wav.ts";

const MODEL_SERVER = fileURLToPath(new URL("workers/model-server.ts", import.meta.url));

/** Returns a job of a busy server as soon as a mapping can say. */
const SOON = { errors: { busyMs: 1000 } };

/** An endpoint of a preset whose server Sluice starts. */
const modelServer = (preset: string): object => ({
	launcher: { type: "process", command: [process.execPath, MODEL_SERVER, "{port}"] },
	http: { preset, port: 0 },
	workersMax: 1,
	limits: "off",
});

const here = site({
	endpoints: ({ folder }) => ({
		served: httpEndpoints(folder).endpoint(SOON),
		chat: { http: "vllm" },
		vectors: { http: "tei" },
		own: { http: { request: { path: "/run" } } },
		documents: modelServer("docling"),
		transcripts: modelServer("whisper-asr"),
		voices: modelServer("speech"),
	}),
});

/** Chooses in a field that opens a list. */
async function choose(page: Page, field: string, choice: string): Promise<void> {
	await page.getByRole("button", { name: field }).click();
	await page.getByRole("option", { name: choice, exact: true }).click();
}

const madeOf = async (id: string): Promise<any> => (await call(here.service.url, `/v1/endpoints/${id}`)).json;

/** Length of the sound that a player has, s. */
const secondsIn = (player: Locator): Promise<number> => player.evaluate((audio: any) => audio.duration as number);

/** What the page of an endpoint says about its server. */
const lineOf = (page: Page) => page.locator(".server-line");

describe.skipIf(noBrowser !== undefined)(titled("HTTP servers in the console"), () => {
	it("D39: one that runs elsewhere is made with a preset, and its page has the command that connects it", async () => {
		const page = await here.open();
		await press(page, T.newEndpoint.open);
		await page.getByLabel(T.newEndpoint.id, { exact: true }).fill("remote");
		await choose(page, T.newEndpoint.program, T.newEndpoint.programs.http);
		const dialog = page.getByRole("dialog");
		await choose(page, T.http.preset, "docling");
		await dialog.getByText(/^docling-serve: documents/).waitFor();
		expect(await page.getByLabel(T.http.port).getAttribute("placeholder")).toBe("5001");
		await choose(page, T.newEndpoint.launcher, "Started elsewhere");
		await page.getByLabel(T.http.url).fill("http://192.0.2.9:5001");
		await press(page, T.newEndpoint.create);
		await page.getByText(T.http.external).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/remote/connect");
		await page
			.getByText(
				`sluice connect docling http://192.0.2.9:5001 --endpoint remote --url ${new URL(here.service.url).origin}`,
			)
			.waitFor();
		expect(await madeOf("remote")).toMatchObject({
			http: { preset: "docling", url: "http://192.0.2.9:5001" },
			launcher: { type: "external" },
		});
		await lineOf(page).getByText("docling", { exact: true }).waitFor();
		await lineOf(page).getByText("http://192.0.2.9:5001", { exact: true }).waitFor();
		await lineOf(page).getByText(T.http.states.none(), { exact: true }).waitFor();
	});

	it("D39: one that Sluice starts needs a port, which is refused at its field", async () => {
		const page = await here.open({ forgive: /status of 400/ });
		await press(page, T.newEndpoint.open);
		await page.getByLabel(T.newEndpoint.id, { exact: true }).fill("local");
		await choose(page, T.newEndpoint.program, T.newEndpoint.programs.http);
		await page.getByRole("textbox", { name: /^Command/ }).fill("node server.mjs {port}");
		await press(page, T.newEndpoint.create);
		await page
			.locator(".field", { has: page.getByLabel(T.http.port) })
			.locator(".fault")
			.waitFor();
		expect(await page.getByRole("alert").count()).toBe(0);
		await page.getByLabel(T.http.port).fill("0");
		await press(page, T.newEndpoint.create);
		await page.getByRole("heading", { name: "local" }).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/local/try");
		expect(await madeOf("local")).toMatchObject({
			http: { preset: "raw", port: 0 },
			launcher: { type: "process", command: ["node", "server.mjs", "{port}"] },
		});
	});

	it("D39: the page says what the server answers while it loads, and when it is ready", async () => {
		const server = httpEndpoints(here.folder);
		server.setLoading(true);
		const page = await here.open({ at: "#/endpoints/served/workers" });
		await lineOf(page).getByText(T.http.states.none(), { exact: true }).waitFor();
		await lineOf(page).getByText(T.http.freePort).waitFor();
		await here.submit("served", { route: "echo" } as object);
		await lineOf(page).getByText(T.http.states.starting(), { exact: true }).waitFor();
		// Its adapter says so every 10 s.
		await lineOf(page).getByText("Waiting for the server: HTTP 503 loading model.").waitFor({ timeout: 40_000 });
		server.setLoading(false);
		await lineOf(page).getByText(T.http.states.ready(1), { exact: true }).waitFor();
		expect(await lineOf(page).textContent()).not.toContain("503");
	});

	it("D39, D54: the timeline of a job has what its worker returned, once", async () => {
		const { json } = await call(here.service.url, "/v2/served/runsync?wait=20000", {
			body: { input: { route: "busy" } },
		});
		expect(json).toMatchObject({ status: "COMPLETED", output: "free" });
		const page = await here.open({ at: `#/endpoints/served/requests/${json.id}` });
		await page.getByText(/^Attempts 1, 2: returned to the queue by the worker: .*429/).waitFor();
		expect(await page.locator(".lane-end", { hasText: /^returned after/ }).count()).toBe(2);
	});

	it("D39: Try it begins as the preset's jobs do: a chat, a form, its example, or JSON", async () => {
		const page = await here.open({ at: "#/endpoints/chat/try" });
		await page.getByLabel(T.chat.message).waitFor();
		expect(await page.getByRole("tab", { name: T.playground.mode.form }).count()).toBe(0);
		await goTo(page, "#/endpoints/documents/try");
		await page.getByLabel(T.form.files.document).waitFor();
		expect(await page.getByLabel(T.form.url).inputValue()).toMatch(/^https:/);
		await goTo(page, "#/endpoints/vectors/try");
		await expect.poll(() => page.getByLabel(T.try.input).inputValue()).toContain('"a heron"');
		await goTo(page, "#/endpoints/own/try");
		await expect.poll(() => page.getByLabel(T.try.input).inputValue()).toContain('"prompt": "hello"');
	});

	it("D36, D39: a document is sent by keyboard, and its text is shown first; a large one is refused", async () => {
		const page = await here.open({ at: "#/endpoints/documents/try" });
		const field = page.getByLabel(T.form.files.document);
		// Before the steps below: a key could arrive before a browser that has just been asked for it.
		const chooser = page.waitForEvent("filechooser", { timeout: 30_000 });
		const send = page.getByRole("button", { name: T.try.send, exact: true });
		await field.setInputFiles({ name: "large.pdf", mimeType: "application/pdf", buffer: Buffer.alloc(7_500_001) });
		await page.getByRole("alert").getByText("large.pdf has 7.5 MB").waitFor();
		expect(await send.isDisabled()).toBe(true);
		await press(page, T.form.remove);
		expect(await page.getByRole("alert").count()).toBe(0);
		await field.focus();
		await page.keyboard.press("Enter");
		const buffer = Buffer.from("Herons eat *fish*.");
		await (await chooser).setFiles({ name: "heron.md", mimeType: "text/markdown", buffer });
		expect(await page.getByLabel(T.form.url).isDisabled()).toBe(true);
		await send.focus();
		await page.keyboard.press("Enter");
		const result = page.getByRole("region", { name: T.try.result });
		await result.locator(".md-heading", { hasText: "heron.md" }).waitFor({ timeout: 30_000 });
		await result.locator("em", { hasText: "fish" }).waitFor();
		await result.getByRole("radio", { name: T.views.json }).click();
		await result.getByText("md_content").waitFor();
		await page.setViewportSize(NARROW);
		expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
	});

	it("D36, D39: an audio file is heard before it is sent, and its transcript is shown", async () => {
		const page = await here.open({ at: "#/endpoints/transcripts/try" });
		const buffer = silence();
		await page.getByLabel(T.form.files.audio).setInputFiles({ name: "quiet.wav", mimeType: "audio/wav", buffer });
		await expect.poll(() => secondsIn(page.getByLabel(T.form.player("quiet.wav")))).toBe(1);
		await page.getByLabel(T.form.members["language"]!).fill("de");
		await press(page, T.try.send);
		const result = page.getByRole("region", { name: T.try.result });
		await result.locator("pre", { hasText: "Silence in de." }).waitFor({ timeout: 30_000 });
		// The form stays that of the preset, whatever the newest job's input is.
		await goTo(page, "#/overview");
		await goTo(page, "#/endpoints/transcripts/try");
		await expect.poll(() => page.getByLabel(T.form.members["language"]!).inputValue()).toBe("de");
	});

	it("D36, D39: a sound that a server returns is played and downloaded", async () => {
		const page = await here.open({ at: "#/endpoints/voices/try" });
		await page.getByLabel(T.form.members["input"]!).fill("Good morning.");
		await press(page, T.try.send);
		const result = page.getByRole("region", { name: T.try.result });
		const player = result.getByLabel(T.media.sound("data"));
		await player.waitFor({ timeout: 30_000 });
		await expect.poll(() => secondsIn(player)).toBe(1);
		const downloaded = page.waitForEvent("download");
		await press(page, T.media.download("data"));
		const file = await downloaded;
		expect(file.suggestedFilename()).toBe("data.wav");
		expect(readFileSync(await file.path()).equals(silence())).toBe(true);
		const { jobs } = (await call(here.service.url, "/v1/endpoints/voices/jobs?limit=1")).json;
		const { input } = (await call(here.service.url, `/v1/endpoints/voices/jobs/${jobs[0].id}`)).json;
		expect(input).toMatchObject({ input: "Good morning.", voice: "af_heart" });
	});
});
