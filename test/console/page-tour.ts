/** The pages that every browser must show without a barrier, with what is to be opened on each. */
import type { Page } from "playwright-core";
import { T } from "../../console/src/text/text.ts";
import type { Gpu } from "../../src/modules/gpus/routes.ts";
import type { BatchObject } from "../../src/modules/openai-async/routes.ts";
import { goTo, press, tail } from "./site.ts";

export const HISTORY = "**/v1/gpus?history=true";

/** Two GPUs: two endpoints on one after the other, then both at once on parts of it; the other one unused. */
export function usedGpus(now: number): Gpu[] {
	const span = (endpoint: string, state: "busy" | "idle" | "starting", from: number, to: number) => ({
		worker: `${endpoint}-0123456789ab`,
		endpoint,
		state,
		from: new Date(now - from * 60_000).toISOString(),
		to: new Date(now - to * 60_000).toISOString(),
	});
	const history = [
		span("chat", "busy", 90, 65),
		span("chat", "starting", 58, 55),
		span("chat", "busy", 55, 40),
		span("chat", "idle", 40, 35),
		span("captions", "starting", 35, 33),
		span("captions", "busy", 33, 28),
		span("captions", "idle", 28, 0),
		span("talk", "starting", 10, 0),
	];
	const gpu = { host: "local", memoryGb: 24.2, holders: [] };
	return [
		{ ...gpu, id: "0", history },
		{ ...gpu, id: "1", history: [] },
	];
}

const BATCH_ID = "batch_01a1ff13c2e4775da4896fd9c3e8ce72";
const ERROR_FILE = "file-01a1ff13c2e4775da4896fd9c3e8ce73";

/** A batch that was cancelled in its middle, with all that its page may show. */
function someBatch(now: number): BatchObject {
	const at = (minutes: number): number => Math.floor(now / 1000) - minutes * 60;
	return {
		id: BATCH_ID,
		object: "batch",
		endpoint: "/v1/chat/completions",
		errors: { object: "list", data: [{ code: "invalid_json_line", line: 3, message: "x".repeat(200), param: null }] },
		input_file_id: "file-01a1ff13c2e4775da4896fd9c3e8ce74",
		completion_window: "24h",
		status: "cancelled",
		output_file_id: "file-01a1ff13c2e4775da4896fd9c3e8ce75",
		error_file_id: ERROR_FILE,
		created_at: at(90),
		in_progress_at: at(89),
		expires_at: at(-1350),
		finalizing_at: null,
		completed_at: null,
		failed_at: null,
		expired_at: null,
		cancelling_at: at(10),
		cancelled_at: at(9),
		request_counts: { total: 50_000, completed: 12_345, failed: 4321 },
		usage: {
			input_tokens: 1_234_567,
			input_tokens_details: { cached_tokens: 1000 },
			output_tokens: 7_654_321,
			output_tokens_details: { reasoning_tokens: 2000 },
			total_tokens: 8_888_888,
		},
		metadata: { "a-long-name-without-a-space-in-it-that-must-be-broken": "y".repeat(200) },
	};
}

/** Answers calls of the page about batches; the error file is longer than what is asked for. */
async function answerBatches(page: Page, now: number): Promise<void> {
	const batch = someBatch(now);
	const failed = (code: string): string =>
		JSON.stringify({ response: null, error: { code, message: "z".repeat(200) } });
	await page.route(`**/batches/${BATCH_ID}`, (route) => route.fulfill({ json: batch }));
	await page.route("**/batches?after=*", (route) =>
		route.fulfill({
			json: { object: "list", data: [batch], first_id: BATCH_ID, last_id: BATCH_ID, has_more: true },
		}),
	);
	await page.route(`**/${ERROR_FILE}/content`, (route) =>
		route.fulfill({
			status: 206,
			headers: { "Content-Range": "bytes 0-262143/9000000" },
			body: [failed("batch_cancelled"), failed("rate_limit_exceeded"), '{"cut'].join("\n"),
		}),
	);
}

/** Ids of what the pages show. */
export interface Made {
	good: string;
	bad: string;
	waits: string;
	runs: string;
	crashes: string;
	worker: string;
}

/** One page: its address, what shows that it is loaded, and what is to be opened on it first. */
export interface Stop {
	name: string;
	at: () => string;
	ready: () => string;
	before?: (page: Page) => Promise<void>;
	after?: (page: Page) => Promise<void>;
}

export const tour = (made: Made): readonly Stop[] => [
	{ name: "overview", at: () => "#/overview", ready: () => T.health.attention },
	{ name: "charts", at: () => "#/endpoints/work/charts", ready: () => T.charts.coldStarts },
	{ name: "batches", at: () => "#/endpoints/work/batches", ready: () => T.batches.none },
	{
		name: "a new batch",
		at: () => "#/endpoints/work/batches",
		ready: () => T.batches.none,
		before: async (page) => {
			await press(page, T.batches.create.open);
			await page.getByText(T.batches.create.noFiles).waitFor();
		},
		after: (page) => page.keyboard.press("Escape"),
	},
	{
		name: "list of batches",
		at: () => "#/endpoints/work/batches",
		ready: () => T.batches.none,
		before: async (page) => {
			await answerBatches(page, Date.now());
			await goTo(page, "#/endpoints/work/batches?after=batch_0");
			await page.getByText(tail(BATCH_ID)).waitFor();
		},
	},
	{
		name: "a batch",
		at: () => `#/endpoints/work/batches/${BATCH_ID}`,
		ready: () => T.batches.page.firstOf("2"),
		after: (page) => page.unrouteAll(),
	},
	{ name: "files", at: () => "#/endpoints/work/files", ready: () => T.files.none },
	{ name: "requests", at: () => "#/endpoints/work/requests", ready: () => tail(made.good) },
	{
		name: "failures by cause",
		at: () => "#/endpoints/work/requests?status=FAILED",
		ready: () => T.errors.title,
	},
	{
		name: "job that completed",
		at: () => `#/endpoints/work/requests/${made.good}`,
		ready: () => "another line",
		before: (page) => page.locator("summary", { hasText: T.job.stream }).click(),
	},
	{
		name: "job that failed",
		at: () => `#/endpoints/work/requests/${made.bad}`,
		ready: () => "a line",
	},
	{
		name: "two jobs compared",
		at: () => `#/endpoints/work/requests/${made.good}?with=${made.bad}`,
		ready: () => T.compare.swap,
	},
	{
		name: "job that runs",
		at: () => `#/endpoints/work/requests/${made.runs}`,
		ready: () => "a third line",
	},
	{
		name: "job that waits",
		at: () => `#/endpoints/waiting/requests/${made.waits}`,
		ready: () => T.job.waits,
	},
	{
		name: "job whose workers crash",
		at: () => `#/endpoints/broken/requests/${made.crashes}`,
		ready: () => "the last line",
	},
	{
		name: "workers that have ended",
		at: () => "#/endpoints/broken/workers",
		ready: () => T.ended.lines,
		before: (page) => page.getByText(T.ended.lines).first().click(),
	},
	{
		name: "try it",
		at: () => "#/endpoints/work/try",
		ready: () => T.try.nothing,
		before: (page) => press(page, T.try.options),
	},
	{
		name: "workers of an endpoint",
		at: () => `#/endpoints/work/workers/${made.worker}`,
		ready: () => "a third line",
	},
	{
		name: "chats side by side",
		at: () => "#/endpoints/talk/try?mode=chat",
		ready: () => T.chat.none,
		before: async (page) => {
			await press(page, new RegExp(`${T.playground.compare}$`));
			await page.getByRole("option", { name: "broken" }).click();
			await page.getByLabel(T.chat.message).fill("hello");
			await page.keyboard.press("Enter");
			await page.getByText("1: hello", { exact: true }).waitFor();
			await press(page, T.chat.stop);
		},
	},
	{
		name: "a form for pictures",
		at: () => "#/endpoints/work/try?mode=picture",
		ready: () => T.picture.nothing,
	},
	{
		name: "chat as code",
		at: () => "#/endpoints/talk/try?mode=chat",
		ready: () => T.chat.none,
		before: (page) => press(page, T.chat.code),
		after: (page) => page.keyboard.press("Escape"),
	},
	{ name: "no workers", at: () => "#/endpoints/waiting/workers", ready: () => T.workers.attach },
	{
		name: "connect",
		at: () => "#/endpoints/work/connect",
		ready: () => "runsync",
		before: async (page) => {
			await press(page, T.connect.token);
			await page.getByText(T.connect.once).waitFor();
		},
	},
	{
		name: "settings",
		at: () => "#/endpoints/work/settings",
		ready: () => T.settings.delete,
		before: (page) => press(page, T.settings.moreOf(0)),
	},
	{
		name: "changes of settings",
		at: () => "#/endpoints/waiting/settings",
		ready: () => T.settings.delete,
		before: async (page) => {
			await page.getByLabel(T.settings.names.workersMax).fill("7");
			await press(page, T.settings.review);
		},
		after: (page) => page.keyboard.press("Escape"),
	},
	{ name: "workers", at: () => "#/workers", ready: () => made.worker },
	{ name: "hosts", at: () => "#/hosts", ready: () => "NVIDIA L4" },
	{
		name: "GPUs of the last hour",
		at: () => "#/hosts",
		ready: () => "NVIDIA L4",
		before: async (page) => {
			await page.route(HISTORY, (route) => route.fulfill({ json: { gpus: usedGpus(Date.now()) } }));
			await goTo(page, "#/workers");
			await goTo(page, "#/hosts");
			await page.getByText(T.hosts.busyFor("20 min")).waitFor();
		},
		after: (page) => page.unroute(HISTORY),
	},
	{
		name: "drain a host",
		at: () => "#/hosts",
		ready: () => "NVIDIA L4",
		before: (page) => press(page, `${T.hosts.drain} rig1`),
		after: (page) => page.keyboard.press("Escape"),
	},
	{ name: "webhooks", at: () => "#/webhooks", ready: () => T.webhooks.redeliver },
	{
		name: "a delivery",
		at: () => "#/webhooks",
		ready: () => T.webhooks.redeliver,
		before: async (page) => {
			await press(page, T.webhooks.open);
			await page.getByRole("dialog").getByText(T.webhooks.body).first().waitFor();
		},
		after: (page) => page.keyboard.press("Escape"),
	},
	{ name: "logs", at: () => "#/logs?lines=workers&endpoint=work", ready: () => "another line" },
	{ name: "server", at: () => "#/server", ready: () => T.server.budgets },
	{ name: "keys", at: () => "#/keys", ready: () => T.keys.never },
	{ name: "audit", at: () => "#/audit", ready: () => T.audit.ok },
	{
		name: "rotate a key",
		at: () => "#/keys",
		ready: () => T.sessions.current,
		before: (page) => press(page, T.keys.rotate),
		after: (page) => page.keyboard.press("Escape"),
	},
	{
		name: "end a session",
		at: () => "#/keys",
		ready: () => T.sessions.current,
		before: (page) => press(page, T.sessions.endOthers),
		after: (page) => page.keyboard.press("Escape"),
	},
	{ name: "no such page", at: () => "#/nowhere", ready: () => T.noPage },
	{
		name: "search",
		at: () => "#/overview",
		ready: () => "Works",
		before: (page) => page.keyboard.press("/"),
		after: (page) => page.keyboard.press("Escape"),
	},
	{
		name: "a question",
		at: () => "#/endpoints/waiting/charts",
		ready: () => T.charts.coldStarts,
		before: (page) => press(page, T.endpoint.purge),
		after: (page) => page.keyboard.press("Escape"),
	},
	{
		name: "new key",
		at: () => "#/keys",
		ready: () => T.keys.never,
		before: (page) => press(page, T.keys.create),
		after: (page) => page.keyboard.press("Escape"),
	},
	{
		name: "new endpoint",
		at: () => "#/overview",
		ready: () => T.overview.spark,
		before: (page) => press(page, T.newEndpoint.open),
		after: (page) => page.keyboard.press("Escape"),
	},
	{
		name: "bulk cancel",
		at: () => "#/endpoints/waiting/requests?status=IN_QUEUE",
		ready: () => tail(made.waits),
		before: (page) => press(page, /^Cancel \d+ …$/),
		after: (page) => page.keyboard.press("Escape"),
	},
];
