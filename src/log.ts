/**
 * The log: one stderr line per event of interest to an operator, as text or as JSON with level,
 * event and facts (pino). `event-table.ts` has the lines; nothing else logs.
 */
import { pino } from "pino";
import type { Clock } from "./clock.ts";
import { printable, printableLines } from "./core/terminal-text.ts";
import { type EventDefinition, EVENTS } from "./event-table.ts";
import type { EventBus } from "./events.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

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
		const { level: at, line: lineOf }: EventDefinition<typeof facts> = EVENTS[event];
		if (!logger.isLevelEnabled(at)) return;
		const line = lineOf(facts);
		if (line === undefined) return;
		const { sentence: raw, below = "" } = typeof line === "string" ? { sentence: line } : line;
		// Text of a worker or a client could imitate log lines or control the terminal.
		const sentence = oneLine(raw);
		if (format === "text") return write(`${time()} ${sentence}${indented(below)}\n`);
		const { error, ...others } = facts as { error?: unknown };
		logger[at]({ event, ...others, ...(error !== undefined && { err: error }) }, sentence);
	});
}

function oneLine(text: string): string {
	return printable(printableLines(text).replaceAll("\n", " "));
}

/** Indents all lines but the first: a worker's or a client's cannot imitate a line of the log. */
function indented(text: string): string {
	const [first = "", ...rest] = text.split(/\r?\n/).map(oneLine);
	return [first, ...rest.map((line) => (line.startsWith("    ") ? line : `    ${line}`))].join("\n");
}
