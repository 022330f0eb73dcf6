/** Reads posts of workers (protocol B.5, D19). */

import type { JsonText } from "../../lib/json/json-text.ts";
import { isObject } from "../../lib/schema.ts";
import { className, replaceControls } from "../../lib/text.ts";
import { type JobReturn, readReturn, REASON_LENGTH } from "./job-return.ts";

/** Maximum size of a result, bytes (D19). */
export const RESULT_LIMIT = 64 * 1024 * 1024;

/** Maximum lines in one post to job-done-batch or job-stream-batch, and maximum bytes of its body. */
export const LINES_TOGETHER = 128;
export const LINES_BODY_LIMIT = 1024 * 1024;

/** Maximum size of a chunk's output, bytes of JSON text; larger outputs are split (spec 2.7, D7). */
export const CHUNK_LIMIT = 1_000_000;

export const REPORT_MEMBERS = ["output", "error", "status", "stopPod", "return"] as const;

export const CHUNK_MEMBERS = ["output", "metrics"] as const;

/** Members of a post as JSON texts. */
export type ReportParts = Partial<Record<Exclude<(typeof REPORT_MEMBERS)[number], "output">, string>> & {
	output?: JsonText;
};

export type Report =
	| { kind: "progress"; value: JsonText }
	| JobReturn
	| {
			kind: "end";
			on: "complete" | "fail";
			output?: JsonText;
			error?: string;
			restart: boolean;
	  };

/**
 * Reads a post: a non-null `return` gives the job back, IN_PROGRESS is progress, a non-null `error` a failure, all else
 * a success. Throws 400 for a `return` that is not valid: it says nothing of the job that could be kept.
 */
export function readReport(parts: ReportParts): Report {
	const restart = parts.stopPod === "true";
	const given = parts.return;
	if (given !== undefined && given !== "null") return { ...readReturn({ ...parts, return: given }), restart };
	if (parts.status === '"IN_PROGRESS"') return { kind: "progress", value: parts.output ?? "null" };
	const output = parts.output === undefined ? {} : { output: parts.output };
	if (parts.error === undefined || parts.error === "null") return { kind: "end", on: "complete", ...output, restart };
	const error = parts.error.startsWith('"') ? (JSON.parse(parts.error) as string) : parts.error;
	return { kind: "end", on: "fail", ...output, error, restart };
}

/** The reason of a return as one line. `hide`: see {@link errorText}. */
export function returnText(reason: string, hide: (text: string) => string): string {
	return lineOf(hide(reason)) || "it gave no reason";
}

/** Values of `event` with which RunPod's SDK reports that a start failed. */
const START_EVENTS = ["prestart_failed", "prestart_timeout", "prestart_cancelled"];

/** Maximum characters of an error that may report a failed start; longer ones are those of handlers. */
const START_LENGTH = 64 * 1024;

/**
 * What a failure says of a job that its worker took while it still started: the handler never ran (B.5). Undefined for
 * other failures. `isStop`: the start was cancelled by a stop of the worker. `hide`: see {@link errorText}.
 */
export function startFailureIn(
	error: string | undefined,
	hide: (text: string) => string,
): { reason: string; isStop: boolean } | undefined {
	if (error === undefined || error.length > START_LENGTH || !error.startsWith("{")) return undefined;
	const members = membersOf(error);
	const { event } = members;
	if (!START_EVENTS.includes(String(event))) return undefined;
	const line = lineOf(hide(saidIn(members)));
	const reason = line === "" ? "its start failed" : `its start failed: ${line}`;
	return { reason, isStop: event === "prestart_cancelled" };
}

/**
 * An error of a handler as one line: type and message of what RunPod's SDK reports, else the text itself. `hide`
 * replaces what must not be shown, in the text as it was before it became JSON.
 */
export function errorText(error: string, hide: (text: string) => string): string {
	const said = error.length <= START_LENGTH && error.startsWith("{") ? saidIn(membersOf(error)) : "";
	return lineOf(hide((said || error).slice(0, START_LENGTH))) || "it gave no reason";
}

function saidIn({ error_type: type, error_message: message }: Record<string, unknown>): string {
	return [typeof type === "string" ? className(type) : "", typeof message === "string" ? message : ""]
		.filter((each) => each !== "")
		.join(": ");
}

function lineOf(text: string): string {
	return replaceControls(text.slice(0, REASON_LENGTH).toWellFormed().replaceAll(/\s+/g, " ")).trim();
}

function membersOf(text: string): Record<string, unknown> {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? value : {};
	} catch {
		return {};
	}
}

/** The failure for an oversized result (D19). */
export function tooLarge(bytes: number | undefined): Report {
	const size = bytes === undefined ? `over ${RESULT_LIMIT} bytes` : `${bytes} bytes`;
	return {
		kind: "end",
		on: "fail",
		error:
			`The worker's result has ${size}; at most ${RESULT_LIMIT} bytes are kept. Put large results ` +
			"into storage and return their URLs.",
		restart: false,
	};
}

/** The failure for a result whose bytes cannot be decoded (D19). `why` is a sentence. */
export function unreadable(why: string): Report {
	return { kind: "end", on: "fail", error: `The worker's result cannot be read. ${why}`, restart: false };
}

/** The failure for a result that is not JSON (D19). */
export function notJson(why: string, bytes: number): Report {
	return {
		kind: "end",
		on: "fail",
		error: `The worker's result of ${bytes} bytes is not JSON: ${why}`,
		restart: false,
	};
}
