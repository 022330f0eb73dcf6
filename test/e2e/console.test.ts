/** The console in a real browser, on a real service with a real worker. It uses what was built. */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestContext } from "vitest";
import { openPage, startChromium } from "../support/chromium.ts";
import { KEY, call, startService } from "../support/service.ts";
import type { TestService } from "../support/service.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONSOLE = `${ROOT}dist/console`;
const PICTURE = `${ROOT}examples/pictures/landscape.jpg`;

/** Most bytes of the first look, gzipped. */
const FIRST_LOAD = 250_000;

let service: TestService;
let browser: Browser;

beforeAll(async () => {
  service = await startService({
    endpoints: {
      thumbnail: { name: "Thumbnails", idleTimeout: 60, launcher: { type: "process", command: [process.execPath, `${ROOT}examples/thumbnail/worker.js`] } },
      waiting: { workersMax: 1, launcher: { type: "external" } },
    },
    consoleFolder: CONSOLE,
  });
  browser = await startChromium();
});

afterAll(async () => {
  await browser?.close();
  await service?.end();
});

/** A page of the console, signed in with the key. */
async function signedIn(test: TestContext, { key = KEY, options }: { key?: string; options?: Parameters<typeof openPage>[1]["options"] } = {}): Promise<{ page: Page; problems: string[] }> {
  const watched = await openPage(test, { browser, origin: service.url, ...(options ? { options } : {}) });
  await watched.page.goto(`${service.url}/console/`);
  await watched.page.getByLabel("API key").fill(key);
  await watched.page.keyboard.press("Enter");
  await watched.page.getByRole("heading", { name: "Overview" }).waitFor();
  return watched;
}

/** Submits a job as a client; its id. */
async function submit(endpoint: string, input: object = {}): Promise<string> {
  return (await call(service.url, `/v2/${endpoint}/run`, { body: { input } })).json.id as string;
}

/** Scripts of the page are text: these tests are not checked against a browser's types. */
const at = (page: Page, hash: string): Promise<unknown> => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

describe("the console", () => {
  it("D31: a wrong key is refused by the service's sentence, the right one leads in, and signing out leads out", async (test) => {
    const { page, problems } = await openPage(test, { browser, origin: service.url });
    await page.goto(`${service.url}/console/`);
    await page.getByLabel("API key").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("unauthorized").waitFor();
    await page.getByLabel("API key").fill(KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Thumbnails", exact: true }).first().waitFor();
    expect(await page.evaluate("document.cookie"), "the cookie is not for scripts").toBe("");
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(KEY);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.reload();
    await page.getByLabel("API key").waitFor();
    expect(problems).toEqual([]);
  });

  it("D31: the one-time link leads in without a key", async (test) => {
    const { json } = await call(service.url, "/v1/console-link", { method: "POST" });
    const { page } = await openPage(test, { browser, origin: service.url });
    await page.goto(service.url + json.path);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  it("a job from the form to its pictures, as they come, and its page with timeline and input", { timeout: 60_000 }, async (test) => {
    const { page, problems } = await signedIn(test);
    await page.getByRole("link", { name: "Thumbnails", exact: true }).first().click();
    await page.getByRole("link", { name: "Try it" }).click();
    const input = page.getByLabel("Input (JSON)");
    await input.fill('{ "sizes": [64, 128], "image": }');
    await input.press("ArrowLeft");
    await page.locator("input[type=file]").setInputFiles(PICTURE);
    await input.press("Control+Enter");
    await page.getByRole("status").getByText("Completed").waitFor();
    await page.getByText("2 chunks in all.").waitFor();
    // The caption is written when the picture has been drawn.
    await page.getByText("64 × 43, webp").first().waitFor();
    await page.getByRole("region", { name: "Result" }).getByRole("link").first().click();
    await page.getByText("reported its result").waitFor();
    await page.getByLabel("Search input").fill("sizes");
    await page.getByText("1 found").waitFor();
    expect(problems).toEqual([]);
  });

  it("nothing of a job is taken for HTML, and a number stays as it was written (D5)", { timeout: 60_000 }, async (test) => {
    const { page, problems } = await signedIn(test);
    const text = '{"input":{"html":"<img src=x onerror=tellBreach(1)>","link":"javascript:tellBreach(1)","big":12345678901234567890}}';
    const { json } = await call(service.url, "/v2/waiting/run", { text });
    await at(page, `#/endpoints/waiting/requests/${json.id}`);
    await page.getByText("12345678901234567890").waitFor();
    await page.getByText("<img src=x onerror=tellBreach(1)>").waitFor();
    expect(await page.locator('a[href^="javascript"], .json img').count()).toBe(0);
    await page.getByText("no_worker", { exact: true }).waitFor();
    expect(problems).toEqual([]);
  });

  it("requests: walked by keys, filtered by the address, followed live; cancelling needs a second press", { timeout: 60_000 }, async (test) => {
    const { page, problems } = await signedIn(test);
    const [first, second] = [await submit("waiting"), await submit("waiting")];
    await at(page, "#/endpoints/waiting/requests?status=IN_QUEUE");
    const rows = page.getByRole("table").getByRole("link");
    await rows.first().focus();
    expect(await rows.first().getAttribute("title")).toBe(second);
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.title")).toBe(first);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: first }).waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByText("Cancelled", { exact: true }).waitFor();
    await at(page, "#/endpoints/waiting/requests?status=CANCELLED");
    await page.locator(`a[title="${first}"]`).waitFor();
    expect(await page.locator(`a[title="${second}"]`).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it("search jumps to a page and to a job by its id, from the keyboard alone", { timeout: 60_000 }, async (test) => {
    const { page } = await signedIn(test);
    const id = await submit("waiting");
    await page.keyboard.press("/");
    await page.keyboard.type("thumb sett");
    await page.getByRole("menuitem", { name: /Thumbnails.*Settings/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByLabel("Most workers").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type(id);
    await page.getByRole("menuitem", { name: new RegExp(id) }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: id }).waitFor();
  });

  it("D27: settings are checked in the form, refused by the service at their field, and saved", { timeout: 60_000 }, async (test) => {
    const { page, problems } = await signedIn(test);
    await at(page, "#/endpoints/waiting/settings");
    await page.getByLabel("Most workers").fill("1001");
    await page.getByText("Must be from 0 to 1000.").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await page.getByLabel("Most workers").fill("2");
    await page.getByLabel("Fewest workers").fill("5");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("must not be over workersMax").first().waitFor();
    await page.getByLabel("Fewest workers").fill("0");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    expect((await call(service.url, "/v1/endpoints/waiting")).json).toMatchObject({ workersMin: 0, workersMax: 2 });
    expect(problems).toEqual([]);
  });

  it("D30: a key is made and shown once; one that may only read sees no deeds", { timeout: 60_000 }, async (test) => {
    const { page } = await signedIn(test);
    await at(page, "#/keys");
    await page.getByRole("button", { name: "Make a key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("looks only");
    await dialog.getByText("also submits").click();
    await dialog.getByText("looks at jobs").click();
    await dialog.getByRole("button", { name: "Make a key" }).click();
    const key = (await dialog.locator("pre").textContent())!;
    await dialog.getByRole("button", { name: "I have kept it" }).click();
    await page.getByText("looks only").waitFor();
    expect(await page.content()).not.toContain(key);

    const reader = (await signedIn(test, { key })).page;
    await at(reader, "#/endpoints/waiting/requests");
    await reader.getByRole("heading", { name: "waiting" }).waitFor();
    expect(await reader.getByRole("button", { name: /^(Pause|Purge queue|Cancel these|Retry these)/ }).count()).toBe(0);
    expect(await reader.getByRole("link", { name: "API keys" }).count()).toBe(0);
  });

  it.for(["light", "dark"] as const)("%s, at 360 px: no page is wider than the window", { timeout: 60_000 }, async (colorScheme, test) => {
    const { page, problems } = await signedIn(test, { options: { colorScheme, viewport: { width: 360, height: 740 } } });
    for (const path of ["overview", "workers", "webhooks", "keys", ...["charts", "requests", "try", "workers", "connect", "settings"].map((tab) => `endpoints/thumbnail/${tab}`)]) {
      await at(page, `#/${path}`);
      await page.locator("main h1").first().waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth"), path).toBeLessThanOrEqual(360);
    }
    expect(problems).toEqual([]);
  });

  it("a page nobody sees holds no connection open, and takes it up again", { timeout: 60_000 }, async (test) => {
    const { page } = await signedIn(test);
    await page.getByText("Live", { exact: true }).waitFor();
    const hide = (hidden: boolean): Promise<unknown> => page.evaluate(`Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`);
    await hide(true);
    await page.getByText("Not live: connecting …").waitFor();
    const again = page.waitForRequest(/\/v1\/feed/);
    await hide(false);
    await again;
    await page.getByText("Live", { exact: true }).waitFor();
  });

  it(`the first look takes under ${FIRST_LOAD / 1000} kB, and so does all of it`, () => {
    const files = readdirSync(CONSOLE, { recursive: true, encoding: "utf8" }).filter((path) => /\.(js|css|html|svg)$/.test(path));
    const size = files.reduce((sum, path) => sum + gzipSync(readFileSync(`${CONSOLE}/${path}`)).length, 0);
    expect(files.length).toBeGreaterThan(5);
    expect(size).toBeLessThan(FIRST_LOAD);
  });
});
