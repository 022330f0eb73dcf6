/**
 * The log: one stderr line per event of interest to an operator, as text or as JSON with level,
 * event and facts (pino). Listens to `events.ts`; nothing else logs.
 */
import { pino } from "pino";
import type { Clock } from "./clock.ts";
import { printable, printableLines } from "./core/terminal-text.ts";
import type { EventBus, EventName, Events } from "./events.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `below`: multi-line details for the text format. */
type Line = string | { sentence: string; below: string } | undefined;

type Entry<N extends EventName> = readonly [LogLevel, (facts: Events[N]) => Line];

/** Per-job events are omitted: metrics count them. */
const ENTRIES: { readonly [N in EventName]?: Entry<N> } = {
	"service.draining": [
		"info",
		({ drainMs, leaveWorkers }) =>
			leaveWorkers
				? "stopping: launched workers and their jobs are left to the next start"
				: `stopping: running jobs get up to ${drainMs / 1000} s, then launched workers are stopped`,
	],
	"service.away": [
		"warn",
		({ ms }) => `the service did not run for ${Math.round(ms / 1000)} s; all leases were extended`,
	],
	"clock.stepped": [
		"warn",
		({ ms }) =>
			`the time of day was set ${ms < 0 ? "back" : "forward"} by ${Math.round(Math.abs(ms) / 1000)} s` +
			`${ms < 0 ? "" : ", or the machine was suspended"}; deadlines are not affected`,
	],
	"server.joined": ["info", ({ server, url }) => `server ${server} at ${url} shares the store`],
	"server.left": ["warn", ({ server, url }) => `server ${server} at ${url} has left`],
	"worker.launched": ["info", (facts) => `${nameOf(facts)} started`],
	"worker.adopted": ["info", (facts) => `${nameOf(facts)} taken over`],
	"worker.waiting": ["info", (facts) => `${nameOf(facts)} does not run yet: ${facts.message}`],
	"worker.ready": ["info", (facts) => `${nameOf(facts)} ready`],
	"worker.unhealthy": ["warn", (facts) => `${nameOf(facts)} is unhealthy: ${facts.reason}`],
	"worker.warned": ["warn", (facts) => `${nameOf(facts)}: ${facts.warning}`],
	"worker.stopping": ["info", (facts) => `${nameOf(facts)} is stopped: ${facts.why}`],
	"worker.exited": ["info", exited],
	"worker.failed": [
		"error",
		({ endpoint, reason, retryMs }) =>
			`${endpoint}: no worker could be started: ${reason}; next try in ${retryMs / 1000} s`,
	],
	"starts.resumed": ["info", ({ endpoint }) => `${endpoint}: an operator ended the pause of starts`],
	"worker.duplicate": [
		"warn",
		({ endpoint, worker }) => `${endpoint}: a second process polls as worker ${worker} and was refused`,
	],
	"worker.stray": [
		"error",
		(facts) =>
			`${nameOf(facts)} has ended for its platform, but still calls from ${facts.from} and is refused: ` +
			"end its process there",
	],
	"job.returned": [
		"warn",
		({ endpoint, id, worker, why }) =>
			`${endpoint}: job ${id} ${why === "lost" ? `was lost by worker ${worker}` : "was returned"} ` +
			"and is back in the queue",
	],
	"endpoint.paused": ["info", ({ endpoint }) => `${endpoint}: paused`],
	"endpoint.resumed": ["info", ({ endpoint }) => `${endpoint}: resumed`],
	"endpoint.removed": ["info", ({ endpoint }) => `${endpoint}: deleted; its jobs are being cancelled`],
	"queue.purged": ["info", ({ endpoint, removed }) => `${endpoint}: the queue was purged, ${removed} jobs removed`],
	"stop.unconfirmed": [
		"warn",
		(facts) => `${nameOf(facts)} was asked to stop job ${facts.id} and has not confirmed it`,
	],
	"webhook.failed": [
		"warn",
		({ endpoint, id, host, reason, retryMs }) =>
			`${endpoint}: the webhook of job ${id} to ${host} failed: ${reason}; ` +
			(retryMs === undefined ? "it is not tried again" : `next try in ${retryMs / 1000} s`),
	],
	"folder.writable": [
		"warn",
		({ path }) => `other users of this machine can replace files in the data folder; run: chmod 700 ${path}`,
	],
	"certificate.reloaded": ["info", () => "the TLS certificate was read again and is in use"],
	"certificate.failed": [
		"error",
		({ reason }) => `the TLS certificate is not replaced, the former one stays in use: ${reason}`,
	],
	"secrets.earlier": [
		"info",
		() =>
			"stored secrets may be encrypted with the earlier key, which is still needed; run: sluice migrate --reencrypt",
	],
	"webhook.paused": [
		"warn",
		({ endpoint, host, unanswered, reason, retryMs }) =>
			`${endpoint}: webhooks to ${host} are paused for ${retryMs / 1000} s: ${unanswered} attempts in a row ` +
			`were not answered, the last because ${reason}`,
	],
	"webhook.disabled": [
		"error",
		({ endpoint, host, reason, failingMs }) =>
			`${endpoint}: webhooks to ${host} are not sent any more: all attempts failed for ` +
			`${Math.round(failingMs / 3_600_000)} h, the last because ${reason}. When it works again: ` +
			`sluice webhooks enable ${endpoint} ${host}`,
	],
	"store.away": ["error", ({ why }) => `the store cannot be written: ${why}`],
	"posts.refused": [
		"error",
		({ heldBytes }) =>
			`${mebibytes(heldBytes)} of workers' posts are held until the store can be written; ` +
			"further ones are refused",
	],
	"disk.low": [
		"error",
		({ freeBytes, reserveBytes }) =>
			`the disk of the store has ${mebibytes(freeBytes)} free; below ${mebibytes(reserveBytes)} ` +
			"submissions are refused",
	],
	"backup.sent": ["info", ({ bytes, ms }) => `a backup of ${mebibytes(bytes)} was sent in ${Math.round(ms / 1000)} s`],
	"disk.enough": ["info", ({ freeBytes }) => `the disk of the store has ${mebibytes(freeBytes)} free again`],
	"store.failed": ["error", ({ why }) => `the store has failed: ${why}`],
	"store.back": ["info", () => "the store can be written again"],
	"request.failed": ["error", requestFailed],
	fault: ["error", ({ where, error }) => faulty(where, error)],
};

/** Redacted facts. */
const SECRETS = ["apiKey", "authorization", "key", "password", "secret", "token", "webhookSecret"];

/** Logs events from `level` on with `write`, with timestamps. */
export function log(q: {
	events: EventBus;
	clock: Clock;
	write: (line: string) => void;
	format?: "text" | "json";
	level?: LogLevel;
}): void {
	const { events, clock, write, format = "text", level = "info" } = q;
	const time = (): string => new Date(clock.wall()).toISOString();
	const logger = pino(
		{
			level,
			base: null,
			timestamp: () => `,"time":"${time()}"`,
			formatters: { level: (label) => ({ level: label }) },
			redact: [...SECRETS, ...SECRETS.map((name) => `*.${name}`)],
		},
		{ write },
	);
	events.onAny((event, facts) => {
		const entry = ENTRIES[event] as Entry<typeof event> | undefined;
		if (!entry || !logger.isLevelEnabled(entry[0])) return;
		const line = entry[1](facts);
		if (line === undefined) return;
		const { sentence: raw, below = "" } = typeof line === "string" ? { sentence: line } : line;
		// Text of a worker or a client could imitate log lines or control the terminal.
		const sentence = oneLine(raw);
		if (format === "text") return write(`${time()} ${sentence}${below}\n`);
		const { error, ...others } = facts as { error?: unknown };
		logger[entry[0]]({ event, ...others, ...(error !== undefined && { err: error }) }, sentence);
	});
}

function nameOf({ endpoint, worker }: { endpoint: string; worker: string }): string {
	return `${endpoint}: worker ${worker}`;
}

function exited({ code, signal, lastOutput, reason, ...facts }: Events["worker.exited"]): Line {
	const how = signal ? ` by ${signal}` : code === undefined ? "" : ` with code ${code}`;
	const sentence = `${nameOf(facts)} ended${how}${reason ? `: ${reason.message}` : ""}`;
	if (code === undefined || code === 0) return sentence;
	return { sentence, below: `; its last lines:\n${indented(lastOutput)}` };
}

function mebibytes(bytes: number): string {
	return `${Math.round(bytes / 2 ** 20)} MiB`;
}

/** 503 is omitted: one `store.away` covers all requests. */
function requestFailed({ method, path, status, reference, error }: Events["request.failed"]): Line {
	if (status === 503) return undefined;
	const what = `${method} ${path} was answered ${status}${reference === "" ? "" : ` (${reference})`}`;
	return status === 500 ? faulty(what, error) : `${what}: ${messageOf(error)}`;
}

function faulty(where: string, error: unknown): Line {
	const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
	const [first = "", ...rest] = stack.split("\n");
	const below = rest.map((line) => `\n${line.startsWith("    ") ? oneLine(line) : indented(line)}`);
	return { sentence: `${where}: ${first}`, below: below.join("") };
}

function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

function oneLine(text: string): string {
	return printable(printableLines(text).replaceAll("\n", " "));
}

function indented(text: string): string {
	return text
		.trimEnd()
		.split(/\r?\n/)
		.map((line) => `    ${oneLine(line)}`)
		.join("\n");
}
