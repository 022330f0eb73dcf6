/**
 * What the browser tests share: a service with the built console and real workers, a real browser,
 * and pages of it that are watched for what a console must never do.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { T } from "../../console/src/text/text.ts";
import type { Clock } from "../../src/kernel/system/clock.ts";
import { startBrowser } from "../support/browser.ts";
import { IN_FIREFOX, insertAsTyped } from "../support/firefox.ts";
import { call, folder, type Folder, KEY, startService, type TestService } from "../support/service.ts";
import type { Act } from "./workers/stage.ts";

/** The built console. */
const BUNDLE = fileURLToPath(new URL("../../dist/console", import.meta.url));
const WORKER = fileURLToPath(new URL("workers/stage.ts", import.meta.url));

/** A phone of the smallest kind that must do, and a window. */
export const NARROW = { width: 360, height: 740 } as const;
export const WIDE = { width: 1280, height: 820 } as const;

/** Time until a page that does not come to show what a test waits for fails it, ms. */
const PATIENCE_MS = 15_000;

const started: Browser | Error = await startBrowser().catch((error: Error) => error);

/** Why tests with a browser cannot run here; undefined where they can. */
export const noBrowser: string | undefined =
	started instanceof Error ? `no browser can run: ${started.message.split("\n")[0]}` : undefined;

/** The title of a suite, with the reason why it does not run. */
export function titled(title: string): string {
	return noBrowser === undefined ? title : `${title} (skipped: ${noBrowser})`;
}

/** How a page is opened. */
interface Opening {
	/** Signs in with this key before; the admin key when absent, no key when null. */
	key?: string | null;
	/** Address of the service, when it is not its own. */
	base?: string;
	/** What stands behind the `#`. */
	at?: string;
	width?: typeof NARROW;
	/** What `navigator.language` says. */
	language?: string;
	/**
	 * Why this page may say errors: those that fit are passed over. The browser itself logs each
	 * refused call.
	 */
	forgive?: RegExp;
}

/** A service and a browser for all tests of a file. */
export interface Site {
	readonly service: TestService;
	readonly folder: Folder;
	/** An endpoint whose workers do as the jobs say. */
	stage(settings?: object): object;
	/** Lets jobs that wait for this word go on. */
	allow(word: string): void;
	/** Submits a job; answers its id. */
	submit(endpoint: string, input: Act, rest?: object): Promise<string>;
	/** Submits a job and answers its id when it has ended. */
	ended(endpoint: string, input: Act): Promise<string>;
	/** Makes a key; answers it. */
	key(scopes: readonly string[], endpoints?: readonly string[]): Promise<{ id: string; key: string }>;
	/** Opens a page; it is closed, and must have kept the rules, when the test ends. */
	open(q?: Opening): Promise<Page>;
}

/**
 * Starts both before the tests of the file and ends them after. `endpoints` by id, made from the
 * site.
 */
export function site({
	endpoints,
	settings,
	clock,
	port,
}: {
	endpoints: (site: Site) => Record<string, object>;
	settings?: Record<string, unknown>;
	clock?: Clock;
	/** Default: a free one. */
	port?: number;
}): Site {
	const place = folder();
	let service: TestService;
	const contexts: { context: BrowserContext; faults: string[] }[] = [];

	beforeAll(async () => {
		service = await startService({
			endpoints: endpoints(self),
			in: place,
			siteFolders: { console: BUNDLE },
			...(settings ? { settings } : {}),
			...(clock ? { clock } : {}),
			...(port === undefined ? {} : { port }),
		});
	});
	afterEach(async () => {
		const all = contexts.splice(0);
		for (const { context } of all) await context.close();
		expect(all.flatMap(({ faults }) => faults)).toEqual([]);
	});
	afterAll(async () => {
		if (!(started instanceof Error)) await started.close();
		await service.end();
		place.remove();
	});

	const self: Site = {
		folder: place,
		get service() {
			return service;
		},
		stage: (given = {}) => ({
			workersMax: 1,
			idleTimeout: 60,
			stopGraceMs: 500,
			launcher: { type: "process", command: [process.execPath, WORKER] },
			env: { STAGE: place.path },
			limits: "off",
			...given,
		}),
		allow: (word) => writeFileSync(join(place.path, word), ""),
		async submit(endpoint, input, rest = {}) {
			const { status, json, text } = await call(service.url, `/v2/${endpoint}/run`, {
				body: { input, ...rest },
			});
			expect(status, text).toBe(200);
			return json.id as string;
		},
		async ended(endpoint, input) {
			const { status, json, text } = await call(service.url, `/v2/${endpoint}/runsync?wait=20000`, {
				body: { input },
			});
			expect([status, json.status], text).toEqual([200, expect.stringMatching(/COMPLETED|FAILED/)]);
			return json.id as string;
		},
		async key(scopes, only) {
			const { status, json, text } = await call(service.url, "/v1/keys", {
				body: { name: scopes.join(" "), scopes, ...(only ? { endpoints: only } : {}) },
			});
			expect(status, text).toBe(201);
			return json as { id: string; key: string };
		},
		async open({ key = KEY, base = service.url, at = "", width, language, forgive = /^$/ } = {}) {
			if (started instanceof Error) throw started;
			const context = await started.newContext({
				viewport: width ?? WIDE,
				locale: "en-GB",
				timezoneId: "UTC",
				reducedMotion: "reduce",
				...(IN_FIREFOX ? {} : { permissions: ["clipboard-read", "clipboard-write"] }),
			});
			const faults: string[] = [];
			contexts.push({ context, faults });
			context.setDefaultTimeout(PATIENCE_MS);
			watch(context, { faults, base, forgive });
			if (IN_FIREFOX) await insertAsTyped(context);
			if (language !== undefined)
				await context.addInitScript(
					`Object.defineProperty(Navigator.prototype, "language", { get: () => ${JSON.stringify(language)} })`,
				);
			if (key !== null) await signInBefore(context, { base, key });
			const page = await context.newPage();
			const shown = async (): Promise<void> => {
				if (key !== null) await page.getByText(T.live, { exact: true }).first().waitFor({ state: "attached" });
			};
			const opened = page.goto(`${base}/console/${at}`).then(shown);
			if ((await Promise.race([opened.catch(cutOff), networkChange(page)])) === "cut off") {
				await page.reload();
				await shown();
			}
			return page;
		},
	};
	return self;
}

/** Signs in as a page would, before one is opened. */
export async function signInBefore(
	context: BrowserContext,
	{ base, key }: { base: string; key: string },
): Promise<void> {
	const answer = await context.request.post(`${base}/console/session`, { data: { key } });
	expect(answer.status()).toBe(200);
	const { pageToken } = (await answer.json()) as { pageToken: string };
	const page = new URL(`${base}/console/`);
	// Also runs in pages of other origins, and again at each load.
	await context.addInitScript(
		`if (location.origin === ${JSON.stringify(page.origin)}) {
			const name = ${JSON.stringify(`sluice.console.session.${page.pathname}`)};
			if (localStorage.getItem(name) === null)
				localStorage.setItem(name, ${JSON.stringify(JSON.stringify(pageToken))});
		}`,
	);
}

/**
 * Chromium ends all requests when an interface of the machine comes or goes, as those of containers
 * do in other tests.
 */
const NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED";

/** Resolves when a request of the page is ended so. */
function networkChange(page: Page): Promise<"cut off"> {
	return new Promise((resolve) =>
		page.on("requestfailed", (request) => {
			if (request.failure()?.errorText === NETWORK_CHANGED) resolve("cut off");
		}),
	);
}

/** Of a failed load: throws unless the network changed. */
function cutOff(error: Error): "cut off" {
	if (error.message.includes(NETWORK_CHANGED)) return "cut off";
	throw error;
}

/** Notes what pages of the console must not do: ask another host, break their policy, fail. */
function watch(
	context: BrowserContext,
	{ faults, base, forgive }: { faults: string[]; base: string; forgive: RegExp },
): void {
	const note = (fault: string): void =>
		void (forgive.test(fault) || fault.includes(NETWORK_CHANGED) || faults.push(fault));
	context.on("request", (request) => {
		const url = request.url();
		if (!url.startsWith(`${base}/`) && !/^(?:data|blob):/.test(url)) note(`asked for ${url.slice(0, 200)}`);
	});
	context.on(
		"console",
		(message) => void (["error", "warning"].includes(message.type()) && note(`said ${message.text().slice(0, 500)}`)),
	);
	context.on("weberror", (error) => note(`threw ${error.error().message}`));
}

/** The row of a table that holds this text, or a title that ends with it. */
export function rowOf(page: Page, text: string): ReturnType<Page["locator"]> {
	const titled = page.locator(`[title$=${JSON.stringify(text)}]`);
	return page.locator("tbody tr", { hasText: text }).or(page.locator("tbody tr", { has: titled }));
}

/** Goes to a page of the console, as by a link. */
export async function goTo(page: Page, hash: string): Promise<void> {
	await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

/** Presses the button of this name; within a dialog if one is open. */
export async function press(page: Page, name: string | RegExp): Promise<void> {
	await page.getByRole("button", { name, exact: true }).last().click();
}

/** The end of an id, as tables show it. */
export const tail = (id: string): string => id.slice(-6);
