/**
 * Makes the pictures of the console in `docs/images/`: `npm run screenshots`. Starts a service with
 * the example endpoints, does real jobs on it, and takes each page in both themes from a real
 * browser. The hour before is made up ({@link writeHistory}); ids and times differ from run to run.
 * `--review FOLDER` makes them there instead, each page as a whole, wide and at the width of a phone.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { T } from "../console/src/text/text.ts";
import { startBrowser } from "../test/support/browser.ts";
import { startDemoService } from "./demo-service.ts";
import { writeHistory } from "./screenshots/history.ts";
import { play, type Scene } from "./screenshots/scene.ts";

const { review } = parseArgs({ options: { review: { type: "string" } } }).values;
const IMAGES = review ?? fileURLToPath(new URL("../docs/images", import.meta.url));
const KEY = "key-of-the-pictures-0123456789";
const WINDOW = review === undefined ? { width: 1280, height: 800 } : { width: 1440, height: 900 };
const PHONE = { width: review === undefined ? 360 : 390, height: 740 };

/** Most bytes of one picture, and of all. */
const MOST = 150_000;
const MOST_OF_ALL = 1_500_000;

interface Shot {
	name: string;
	at: (scene: Scene) => string;
	/** Text that is shown when the page is complete. */
	ready: string | ((scene: Scene) => string);
	before?: (page: Page, scene: Scene) => Promise<void>;
	phone?: true;
}

const SHOTS: readonly Shot[] = [
	{ name: "overview", at: () => "#/overview", ready: "Thumbnails", before: drawn, phone: true },
	{
		name: "charts",
		at: () => "#/endpoints/thumbnail/charts",
		ready: T.charts.coldStarts,
		before: drawn,
	},
	{
		name: "requests",
		at: () => "#/endpoints/thumbnail/requests",
		ready: ({ pictures }) => pictures.slice(-6),
		before: (page) => page.locator("main .to-come").first().waitFor({ state: "detached" }),
		phone: true,
	},
	{
		name: "job",
		at: ({ pictures }) => `#/endpoints/thumbnail/requests/${pictures}`,
		ready: T.job.timeline,
		before: (page) => page.locator("main img").last().waitFor(),
	},
	{
		name: "try",
		at: () => "#/endpoints/openai/try?mode=chat",
		ready: T.chat.none,
		before: tried,
		phone: true,
	},
	{ name: "workers", at: () => "#/workers", ready: ({ worker }) => worker },
	{
		name: "log",
		at: ({ worker }) => `#/endpoints/thumbnail/workers/${worker}`,
		ready: "320 x 213 webp",
	},
	{ name: "connect", at: () => "#/endpoints/openai/connect", ready: "/openai/v1" },
	{
		name: "settings",
		at: () => "#/endpoints/thumbnail/settings",
		ready: T.settings.names.workersMax,
	},
	{ name: "webhooks", at: () => "#/webhooks", ready: "/thumbnails" },
	{ name: "keys", at: () => "#/keys", ready: "Web shop" },
	{ name: "search", at: () => "#/overview", ready: "Thumbnails", before: searched },
];

/** Pages that no document shows. */
const OTHERS: readonly Shot[] = [
	{
		name: "compare",
		at: ({ pictures, other }) => `#/endpoints/thumbnail/requests/${pictures}?with=${other}`,
		ready: ({ other }) => other.slice(-6),
	},
	{ name: "picture", at: () => "#/endpoints/thumbnail/try?mode=picture", ready: T.picture.nothing },
	{ name: "hosts", at: () => "#/hosts", ready: T.pages.hosts },
	{ name: "audit", at: () => "#/audit", ready: T.audit.action },
];

/** Charts are drawn in the frame after their data came, and follow the width of the page. */
async function settled(page: Page): Promise<void> {
	await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
}

async function drawn(page: Page): Promise<void> {
	await page.locator("canvas").last().waitFor();
	await settled(page);
}

async function tried(page: Page, { question }: Scene): Promise<void> {
	await page.getByRole("button", { name: T.chat.models }).click();
	await page.locator("input[list]").waitFor();
	await page.getByLabel(T.chat.maxTokens).fill("90");
	await page.getByLabel(T.chat.message).fill(question);
	await page.keyboard.press("Enter");
	await page.getByText("tokens/s").waitFor();
}

async function searched(page: Page): Promise<void> {
	await page.keyboard.press("/");
	await page.getByRole("dialog").locator("input:focus").waitFor();
	await page.keyboard.type("thumb");
	await page.getByRole("menuitem").first().waitFor();
}

/** Takes the page as it stands; answers the bytes. */
async function take(page: Page, name: string, fullPage = false): Promise<number> {
	await page.mouse.move(0, 0);
	const png = await page.screenshot({ animations: "disabled", caret: "hide", fullPage });
	const webp = await sharp(png).webp({ nearLossless: true, quality: 60, effort: 6 }).toBuffer();
	if (webp.length > MOST && review === undefined) throw new Error(`${name} has ${webp.length} bytes.`);
	await writeFile(join(IMAGES, `${name}.webp`), webp);
	return webp.length;
}

/** The pictures for review take longer than the idleTimeout of the example. */
async function keepWorkers(url: string): Promise<void> {
	const answer = await fetch(`${url}/v1/endpoints/thumbnail`, {
		method: "PATCH",
		headers: { authorization: `Bearer ${KEY}` },
		body: JSON.stringify({ idleTimeout: 3600 }),
	});
	if (!answer.ok) throw new Error(`The idleTimeout was not changed: ${await answer.text()}`);
}

const folder = await mkdtemp(join(tmpdir(), "sluice-pictures-"));
await mkdir(IMAGES, { recursive: true });
await writeHistory(join(folder, "sluice.db"));
const service = startDemoService({ key: KEY, store: `sqlite:${join(folder, "sluice.db")}` });
try {
	const url = await service.listening;
	const [browser, scene] = await Promise.all([startBrowser(), play({ url, key: KEY })]);
	if (review !== undefined) await keepWorkers(url);
	let all = 0;
	for (const colorScheme of ["light", "dark"] as const) {
		const context = await browser.newContext({
			colorScheme,
			viewport: WINDOW,
			locale: "en-GB",
			timezoneId: "UTC",
			reducedMotion: "reduce",
		});
		const page = await context.newPage();
		await page.goto(`${url}/console/`);
		await page.getByLabel(T.signIn.key).waitFor();
		all += await take(page, `console-sign-in-${colorScheme}`);
		await page.getByLabel(T.signIn.key).fill(KEY);
		await page.getByRole("button", { name: T.signIn.act }).click();
		for (const { name, at, ready, before, phone } of review === undefined ? SHOTS : [...OTHERS, ...SHOTS]) {
			await page.setViewportSize(WINDOW);
			await page.evaluate(`location.hash = ${JSON.stringify(at(scene))}`);
			await page
				.locator("main")
				.getByText(typeof ready === "string" ? ready : ready(scene))
				.first()
				.waitFor();
			await before?.(page, scene);
			all += await take(page, `console-${name}-${colorScheme}`, review !== undefined);
			if (before === searched) await page.keyboard.press("Escape");
			if (!phone && review === undefined) continue;
			await page.setViewportSize(PHONE);
			await settled(page);
			all += await take(page, `console-${name}-${PHONE.width}-${colorScheme}`, review !== undefined);
		}
		await context.close();
	}
	await browser.close();
	if (all > MOST_OF_ALL && review === undefined) throw new Error(`All pictures together have ${all} bytes.`);
	process.stdout.write(`${Math.round(all / 1000)} kB in ${IMAGES}\n`);
} finally {
	await service.stop();
	await rm(folder, { recursive: true, force: true });
}
