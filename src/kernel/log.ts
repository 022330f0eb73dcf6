/** Writes log lines of events (`event-table.ts`), as text or JSON. Nothing else logs. */
import { pino } from "pino";
import type { Clock } from "./system/clock.ts";
import { printable, printableLines } from "./lib/terminal-text.ts";
import { areaOf, type EventDefinition, EVENTS, namedFacts } from "./event-table.ts";
import type { EventBus, EventTable } from "./events.ts";
import { LOG_LEVELS, type LogLevel } from "./core/workers/log-line.ts";

/** What a line is about. */
export interface LineFacts {
	time: string;
	level: LogLevel;
	endpoint?: string | undefined;
	job?: string | undefined;
}

/** Facts to redact. */
const SECRETS = ["apiKey", "authorization", "key", "password", "secret", "token", "webhookSecret"];

export function log(q: {
	events: EventBus;
	clock: Clock;
	write: (line: string, facts: LineFacts) => void;
	format?: "text" | "json";
	/** A level, then those of areas: `info,webhook=debug`. */
	level?: string;
	/** Events of modules. */
	more?: EventTable;
}): void {
	const { events, clock, write, format = "text", level = "info" } = q;
	const table: Readonly<Record<string, EventDefinition<never>>> = { ...EVENTS, ...q.more };
	let about: LineFacts = { time: "", level: "info" };
	const logger = pino(
		{
			level: "debug",
			base: null,
			timestamp: () => `,"time":"${about.time}"`,
			formatters: { level: (label) => ({ level: label }) },
			redact: [...SECRETS, ...SECRETS.map((name) => `*.${name}`)],
		},
		{ write: (line) => write(line, about) },
	);
	const isShown = filterOf(level, table);
	events.onAny((event, facts) => {
		if (!isShown(event)) return;
		const { level: at, line: lineOf } = table[event] as EventDefinition<typeof facts>;
		const line = lineOf ? lineOf(facts) : event + namedFacts(facts);
		if (line === undefined) return;
		const { sentence: raw, below = "" } = typeof line === "string" ? { sentence: line } : line;
		// Text of a worker or a client could imitate log lines or control the terminal.
		const sentence = oneLine(raw);
		about = { time: new Date(clock.wall()).toISOString(), level: at, ...subjectOf(event, facts) };
		if (format === "text") return write(`${about.time} ${sentence}${indented(below)}\n`, about);
		const { error, ...others } = facts as { error?: unknown };
		logger[at]({ event, ...others, ...(error !== undefined && { err: error }) }, sentence);
	});
}

/** The `id` of an event of a job is that of the job. */
function subjectOf(event: string, facts: object): Pick<LineFacts, "endpoint" | "job"> {
	const { endpoint, job, id } = facts as { endpoint?: string; job?: string; id?: string };
	return { endpoint, job: areaOf(event) === "job" ? id : job };
}

function filterOf(levels: string, table: EventTable): (event: string) => boolean {
	const [least, ...others] = levels.split(",");
	const byArea = new Map(others.map((each) => each.split("=") as [string, string]));
	const rankOf = (level: string): number => LOG_LEVELS.indexOf(level as LogLevel);
	const shown = new Set(
		Object.entries(table).flatMap(([event, { level }]) =>
			rankOf(level) >= rankOf(byArea.get(areaOf(event)) ?? least!) ? [event] : [],
		),
	);
	return (event) => shown.has(event);
}

function oneLine(text: string): string {
	return printable(printableLines(text).replaceAll("\n", " "));
}

/** Indents all lines but the first, because foreign text could imitate a log line. */
function indented(text: string): string {
	const [first = "", ...rest] = text.split(/\r?\n/).map(oneLine);
	return [first, ...rest.map((line) => (line.startsWith("    ") ? line : `    ${line}`))].join("\n");
}
