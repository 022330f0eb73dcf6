/** Jobs as text (D39). */
import type { JobDetail } from "../../../kernel/api/job-records.ts";
import { isObject } from "../../../kernel/lib/schema.ts";
import { membersOf } from "../../framework/json-members.ts";
import { parseJson, type ServiceAnswer } from "../../client/service-client.ts";
import { trimmedStack } from "../../framework/stack.ts";
import { fieldList, shortTime, spanText, table } from "../../framework/table.ts";
import { printable, printableLines } from "../../../kernel/lib/terminal-text.ts";
import { className } from "../../../kernel/lib/text.ts";

const MAX_PAYLOAD = 2000;

/** `now`: the time of day, ms since the epoch. */
export function jobText(answer: ServiceAnswer, endpoint: string, now: number): string {
	const job = answer.json as JobDetail;
	const { written, delivered } = job.chunks;
	const fields = fieldList([
		["Job", job.id],
		["Status", job.status],
		["Waits", job.reason && `${waitText(job.reason, now)} (${job.reason.code})`],
		["Operation", job.operation],
		["Worker", job.workerId],
		["Release", job.release],
		["In queue", `${job.delayTime} ms`],
		["Run time", job.executionTime > 0 ? `${job.executionTime} ms` : undefined],
		["Retries", job.retries],
		["Chunks", written > 0 ? `${written} written, ${delivered} delivered` : undefined],
		["Webhook", job.webhook],
		[job.expired ? "Expired" : "Expires", shortTime(job.expiresAt)],
	]);
	const error =
		job.error === undefined ? "" : `\nError\n${printableLines(trimmedStack(errorText(job.error), "--json"))}\n`;
	const timeline = job.timeline.map(({ at, event, message }) => [at, event, message]);
	// Parsing and printing could change numbers.
	const found = membersOf(answer.text, ["input", "output"]);
	const { input, output } = found.ok ? found.texts : {};
	return (
		`${fields}${crash(job, endpoint)}${error}\n${table(["AT", "EVENT", ""], timeline)}` +
		payload("Input", input) +
		payload("Output", output)
	);
}

/** Why a job waits, such as "Worker hello-1 is starting, for 12 s." */
export function waitText({ message, since }: NonNullable<JobDetail["reason"]>, now: number): string {
	if (since === undefined) return message;
	return `${message.replace(/\.$/, "")}, for ${spanText(Math.max(0, now - Date.parse(since)))}.`;
}

function crash({ reason }: JobDetail, endpoint: string): string {
	if (!reason?.worker) return "";
	const { id, message, lastOutput = "" } = reason.worker;
	const lines = lastOutput === "" ? "" : `${printableLines(lastOutput).replace(/^/gm, "  ")}\n`;
	const next = reason.retryAt === undefined ? "" : `Next start: ${reason.retryAt}\n`;
	return (
		`\nWorker ${id}\n${printable(message)}\n${lines}${next}` +
		`The whole log: sluice workers logs ${endpoint} ${id}\n` +
		`Start one now: sluice workers start ${endpoint}\n`
	);
}

function payload(heading: string, text: string | undefined): string {
	if (text === undefined) return "";
	const shortened =
		text.length > MAX_PAYLOAD ? `${text.slice(0, MAX_PAYLOAD)}… (${text.length} characters; --json prints all)` : text;
	return `\n${heading}\n${readable(shortened)}\n`;
}

/** A string as its text, other JSON with line ends and tabs unescaped. Terminal controls are replaced. */
export function readable(json: string): string {
	const whole = json.startsWith('"') ? parseJson(json) : undefined;
	if (typeof whole === "string") return printableLines(whole);
	const text = json.replaceAll(/\\(?:r\\n|.)/g, (escape) => ESCAPES[escape] ?? escape);
	return text
		.split(/\r?\n/)
		.map((line) => printable(line.replaceAll("\t", "    ")))
		.join("\n");
}

const ESCAPES: Readonly<Record<string, string>> = { "\\n": "\n", "\\r\\n": "\n", "\\t": "\t" };

/** Shows the stack and message if the error is an SDK's JSON of an exception. */
export function errorText(error: string): string {
	const { type = "Error", message, trace } = exceptionOf(error);
	const sentence = message === undefined ? undefined : `${type}: ${message}`;
	if (trace === undefined) return sentence ?? error;
	const stack = trace.trimEnd();
	return sentence === undefined || stack.includes(message!) ? stack : `${sentence}\n${stack}`;
}

/** The exception that an SDK reports as JSON; empty for other errors. */
export function exceptionOf(error: string): { type?: string; message?: string; trace?: string } {
	const value = error.startsWith("{") ? parseJson(error) : undefined;
	if (!isObject(value)) return {};
	const { error_type: type, error_message: message, error_traceback: trace } = value;
	return {
		...(typeof type === "string" && { type: className(type) }),
		...(typeof message === "string" && { message }),
		...(typeof trace === "string" && { trace }),
	};
}

/** What a list shows of an error: its first line, or the type and message of an exception. */
export function errorLine(error: string): string {
	const { type = "Error", message } = exceptionOf(error);
	return (message === undefined ? error : `${type}: ${message}`).split("\n", 1)[0]!.slice(0, 200);
}
