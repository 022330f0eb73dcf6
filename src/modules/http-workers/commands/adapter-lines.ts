/** What the adapter of the worker kit reports, as lines for a terminal. */
import type { AdapterOptions } from "sluice/worker/http";
import { styled } from "../../../cli/framework/style.ts";
import { parseJson } from "../../../cli/client/service-client.ts";
import { isObject } from "../../../kernel/lib/schema.ts";
import { printable, printableLines } from "../../../kernel/lib/terminal-text.ts";

/** The end of a job, as the adapter reports it. */
export type JobEnd = Parameters<NonNullable<AdapterOptions["onJob"]>>[0];

const COLOURS = { succeeded: "green", failed: "red", returned: "yellow", stopped: "dim" } as const;
/** Characters of a reason on one line. */
const MAX_REASON = 500;

/** Such as `5f0c… 812 ms failed: HTTP 422: no such model`. */
export function jobLine({ id, ms, outcome, reason }: JobEnd): string {
	const why = reason === undefined ? "" : `: ${printable(reason.slice(0, MAX_REASON).replaceAll(/\s+/g, " "))}`;
	return `${printable(id)}  ${ms} ms  ${styled(COLOURS[outcome], outcome)}${why}`;
}

/** Prints a line of the adapter's log, unless the line of its job's end says the same. */
export function logLine(text: string, print: (line: string) => void): void {
	const line = logged(text);
	if (!line) return;
	const { message, level, isOfJob } = line;
	if (isOfJob && level === "INFO") return;
	const shown = printableLines(message);
	print(level === "INFO" ? shown : `${styled(level === "ERROR" ? "red" : "yellow", level)} ${shown}`);
}

/** A line in the form that SDKs have on a service (protocol B.9). Undefined for all other output. */
export function logged(text: string): { message: string; level: string; isOfJob: boolean } | undefined {
	const line = text.startsWith('{"requestId":') ? parseJson(text) : undefined;
	if (!isObject(line)) return undefined;
	const { requestId, message, level } = line;
	return { message: String(message), level: String(level), isOfJob: requestId !== null };
}
