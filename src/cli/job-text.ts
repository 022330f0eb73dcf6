/** `sluice jobs get` as text (D39). */
import type { JobDetail } from "../api/job-records.ts";
import { errorText } from "./job-error.ts";
import { membersOf } from "./json-members.ts";
import { parseJson, type ServiceAnswer } from "./service-client.ts";
import { fieldList, shortTime, table } from "./table.ts";
import { printable, printableLines } from "../core/terminal-text.ts";

/** Longer payloads are cut, characters. */
const MAX_PAYLOAD = 2000;

/** The response of `GET /v1/endpoints/{endpoint}/jobs/{job}` as text. */
export function jobText(answer: ServiceAnswer, endpoint: string): string {
	const job = answer.json as JobDetail;
	const { written, delivered } = job.chunks;
	const fields = fieldList([
		["Job", job.id],
		["Status", job.status],
		["Waits", job.reason && `${job.reason.message} (${job.reason.code})`],
		["Operation", job.operation],
		["Worker", job.workerId],
		["In queue", `${job.delayTime} ms`],
		["Run time", job.executionTime > 0 ? `${job.executionTime} ms` : undefined],
		["Retries", job.retries],
		["Chunks", written > 0 ? `${written} written, ${delivered} delivered` : undefined],
		["Webhook", job.webhook],
		[job.expired ? "Expired" : "Expires", shortTime(job.expiresAt)],
	]);
	const error = job.error === undefined ? "" : `\nError\n${printableLines(errorText(job.error))}\n`;
	const timeline = table(
		["AT", "EVENT", ""],
		job.timeline.map(({ at, event, message }) => [at, event, message]),
	);
	return `${fields}${crash(job, endpoint)}${error}\n${timeline}${payloads(answer.text)}`;
}

/** The last lines of the worker that crashed, and what to do. */
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

/** Source text, for parsing and printing could change numbers; line ends of strings as such. */
function payloads(text: string): string {
	const found = membersOf(text, ["input", "output"]);
	if (!found.ok) return "";
	const { input, output } = found.texts;
	return payload("Input", input) + payload("Output", output);
}

function payload(heading: string, text: string | undefined): string {
	if (text === undefined) return "";
	const shortened =
		text.length > MAX_PAYLOAD ? `${text.slice(0, MAX_PAYLOAD)}… (${text.length} characters; --json prints all)` : text;
	return `\n${heading}\n${readable(shortened)}\n`;
}

/**
 * A string as its text, other JSON with the line ends and tabs of its strings as such; what could
 * steer a terminal is replaced.
 */
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
