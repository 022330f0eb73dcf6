/**
 * The console's Requests page with a million jobs in a SQLite store: time of pages at the API (the
 * first, filtered ones, deep ones), and how the browser keeps up while one scrolls and turns pages.
 * Prints JSON. `node bench/console-requests.ts [jobs]`, after `npm run build`; minutes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { T } from "../console/src/text/text.ts";
import { cursorOf } from "../src/kernel/store/cursor.ts";
import { openSqlite } from "../src/kernel/store/sqlite/open.ts";
import { startBrowser } from "../test/support/browser.ts";
import { machine } from "./machine.ts";
import { KEY, end, startService, startWorker } from "./processes.ts";

const jobs = Number(process.argv[2] ?? 1_000_000);
const GROUP = 2000;
/** Of a thousand jobs: so many failed, are cancelled, still wait. */
const PARTS = { failed: 30, cancelled: 1, waiting: 10 };
/** Calls of each kind. */
const CALLS = 200;
const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const JOBS = "/v1/endpoints/noop/jobs?expired=true&limit=50";
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));

/** The percentiles of times, ms. */
function percentiles(times: readonly number[]): { p50: number; p99: number; max: number } {
	const sorted = times.toSorted((a, b) => a - b);
	const at = (part: number): number =>
		Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]! * 10) / 10;
	return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Fills the store with jobs of the last day in all states. */
async function fill(path: string): Promise<void> {
	const store = await openSqlite({ path });
	const began = Date.now() - DAY_MS;
	const [input, output] = [JSON.stringify({ prompt: "x".repeat(187) }), '{"ok":true}'];
	for (let made = 0; made < jobs; made += GROUP) {
		const now = began + Math.floor((made / jobs) * (DAY_MS - 60_000));
		const worker = `noop-${String((made / GROUP) % 8).padStart(4, "0")}`;
		const ids = Array.from(
			{ length: Math.min(GROUP, jobs - made) },
			(_, index) => `0190a0b0-0000-7000-8000-${(made + index).toString(16).padStart(12, "0")}`,
		);
		const kind = (index: number): string =>
			index % 1000 < PARTS.failed
				? "failed"
				: index % 1000 < PARTS.failed + PARTS.cancelled
					? "cancelled"
					: "completed";
		const waits = made >= jobs * (1 - PARTS.waiting / 1000);
		await Promise.all(
			ids.map((id) =>
				store.jobs.insert({
					submission: {
						id,
						endpoint: "noop",
						operation: "run",
						lowPriority: false,
						ttlMs: WEEK_MS,
						executionTimeoutMs: 600_000,
						leaseMs: 20_000,
						retainMs: WEEK_MS,
						recordMs: WEEK_MS,
					},
					input,
					now,
				}),
			),
		);
		if (waits) continue;
		await Promise.all(
			ids
				.filter((_, index) => kind(index) === "cancelled")
				.map((id) => store.jobs.move({ endpoint: "noop", id, on: "cancel", now })),
		);
		await store.jobs.claim({ endpoint: "noop", worker, limit: GROUP, maxBytes: 20_000_000, now });
		await Promise.all(
			ids.map((id, index) =>
				store.jobs.report({
					endpoint: "noop",
					id,
					worker,
					outcome: kind(index) === "failed" ? { on: "fail", error: "It broke." } : { on: "complete", output },
					now: now + 40 + (index % 300),
				}),
			),
		);
	}
	await store.close();
}

/** Times of a call, one after the other, as the console makes it. */
async function timed(
	url: string,
	path: string,
	calls = CALLS,
): Promise<{ rows: number; first: number; p50: number; p99: number; max: number }> {
	const times: number[] = [];
	let rows = 0;
	for (let call = 0; call < calls; call += 1) {
		const began = performance.now();
		const answer = await fetch(url + path, { headers: { authorization: `Bearer ${KEY}` } });
		const told = (await answer.json()) as { jobs: unknown[] };
		times.push(performance.now() - began);
		if (!answer.ok) throw new Error(`${path} was answered ${answer.status}.`);
		rows = told.jobs.length;
	}
	return { rows, first: Math.round(times[0]! * 10) / 10, ...percentiles(times.slice(1)) };
}

/**
 * Time of a page of a filter that fits few jobs: answers are asked for until there are 50 rows or
 * no more jobs, as the console does.
 */
async function followed(url: string, path: string): Promise<{ rows: number; answers: number; ms: number }> {
	const began = performance.now();
	let [rows, answers] = [0, 0];
	for (let next: string | null = ""; next !== null && rows < 50; answers += 1) {
		const answer = await fetch(`${url}${path}${next === "" ? "" : `&cursor=${next}`}`, {
			headers: { authorization: `Bearer ${KEY}` },
		});
		const told = (await answer.json()) as { jobs: unknown[]; next: string | null };
		rows += told.jobs.length;
		next = told.next;
	}
	return { rows, answers, ms: Math.round(performance.now() - began) };
}

async function atTheApi(url: string): Promise<object> {
	const half = new Date(Date.now() - DAY_MS / 2);
	return {
		newest: await timed(url, JOBS),
		newestWithInputs: await timed(url, `${JOBS}&preview=true`),
		counted: await timed(url, `${JOBS}&limit=1&count=true`),
		countedFailed: await timed(url, `${JOBS}&limit=1&count=true&status=FAILED`),
		searched: await timed(url, `${JOBS}&preview=true&search=no-such-text`),
		searchedAll: await followed(url, `${JOBS}&search=no-such-text`),
		failed: await timed(url, `${JOBS}&status=FAILED,TIMED_OUT`),
		cancelled: await timed(url, `${JOBS}&status=CANCELLED`),
		waiting: await timed(url, `${JOBS}&status=IN_QUEUE`),
		anHour: await followed(
			url,
			`${JOBS}&status=COMPLETED&from=${half.toISOString()}&to=${new Date(half.getTime() + 3_600_000).toISOString()}`,
		),
		ofAWorker: await timed(url, `${JOBS}&worker=noop-0003`),
		ofNoWorker: await followed(url, `${JOBS}&worker=nobody`),
		inTheMiddle: await timed(url, `${JOBS}&cursor=${cursorOf(Math.floor(jobs / 2))}`),
		last: await timed(url, `${JOBS}&cursor=${cursorOf(60)}`),
		aJob: await timed(
			url,
			`${JOBS}&id=0190a0b0-0000-7000-8000-${Math.floor(jobs / 3)
				.toString(16)
				.padStart(12, "0")}`,
		),
	};
}

/** Submits jobs one after the other until the signal; answers how many. */
async function submit(url: string, signal: AbortSignal): Promise<number> {
	for (let jobs = 0; ; jobs += 1) {
		if (signal.aborted) return jobs;
		await (
			await fetch(`${url}/v2/noop/run`, {
				method: "POST",
				headers: { authorization: `Bearer ${KEY}` },
				body: '{"input":{}}',
			})
		).arrayBuffer();
	}
}

/** Notes the time of each frame and each long task from here on. */
const WATCH = `globalThis.seen = { frames: [], long: [] };
new PerformanceObserver((list) => seen.long.push(...list.getEntries().map(({ duration }) => Math.round(duration)))).observe({ type: "longtask" });
requestAnimationFrame(function frame(at) { seen.frames.push(at); requestAnimationFrame(frame); });`;

/** Frames that came later than one and a half times a frame after the last one. */
async function seen(page: Page): Promise<object> {
	const { frames, long } = await page.evaluate<{ frames: number[]; long: number[] }>(
		"(() => { const last = seen; seen = { frames: [], long: [] }; return last; })()",
	);
	const gaps = frames.slice(1).map((at, index) => at - frames[index]!);
	return {
		frames: gaps.length,
		frameMs: percentiles(gaps),
		dropped: gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / (1000 / 60)) - 1), 0),
		longTasksMs: long,
	};
}

async function inTheBrowser(url: string): Promise<object> {
	const browser = await startBrowser();
	try {
		const context = await browser.newContext({
			viewport: { width: 1280, height: 820 },
			locale: "en-GB",
		});
		const page = await context.newPage();
		await page.goto(`${url}/console/`);
		await page.getByLabel(T.signIn.key).fill(KEY);
		await page.getByRole("button", { name: T.signIn.act }).click();
		await page.getByRole("heading", { name: T.pages.overview }).waitFor();
		await page.addInitScript(WATCH);
		// Only what is behind the # changes: the page is loaded by the reload.
		await page.goto(`${url}/console/#/endpoints/noop/requests`);
		const began = performance.now();
		await page.reload();
		const rows = page.locator("tbody tr");
		await rows.nth(49).waitFor();
		const opened = Math.round(performance.now() - began);
		const open = await seen(page);
		await page.mouse.move(640, 400);
		const scrolled = async (): Promise<object> => {
			for (let turn = 0; turn < 240; turn += 1) await page.mouse.wheel(0, turn % 60 < 30 ? 80 : -80);
			return await seen(page);
		};
		const scrolling = await scrolled();
		const turns: number[] = [];
		for (let turn = 0; turn < 20; turn += 1) {
			const last = await rows.first().locator("a").first().getAttribute("title");
			const pressed = performance.now();
			await page.getByRole("button", { name: T.requests.older }).click();
			await page.locator(`tbody tr:first-child a[title="${last}"]`).waitFor({ state: "detached" });
			turns.push(performance.now() - pressed);
		}
		const turning = await seen(page);
		await page.getByRole("button", { name: T.requests.newest }).click();
		const worker = await startWorker(url);
		const submitting = new AbortController();
		const submitted = submit(url, submitting.signal);
		await seen(page);
		const busy = await scrolled();
		submitting.abort();
		const jobsMeanwhile = await submitted;
		await end(worker);
		return {
			openedMs: opened,
			open,
			scrolling,
			olderMs: percentiles(turns),
			turning,
			whileJobsRun: { ...busy, jobsMeanwhile },
		};
	} finally {
		await browser.close();
	}
}

try {
	const began = performance.now();
	await fill(join(folder, "sluice.db"));
	const filledS = Math.round((performance.now() - began) / 1000);
	const service = await startService(folder);
	try {
		const api = await atTheApi(service.url);
		process.stdout.write(
			`${JSON.stringify({ bench: "console-requests", ...machine(), jobs, filledS, apiMs: api, browser: await inTheBrowser(service.url) }, null, 2)}\n`,
		);
	} finally {
		await end(service.child);
	}
} finally {
	rmSync(folder, { recursive: true, force: true });
}
