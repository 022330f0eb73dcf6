/** Posts of workers (protocol B.5, D19). */

import type { JsonText } from "../../lib/json/json-text.ts";
import { isObject } from "../../lib/schema.ts";

/** Bytes (D19). */
export const RESULT_LIMIT = 64 * 1024 * 1024;

/** Lines in one post to job-done-batch or job-stream-batch, and its body in bytes. */
export const LINES_TOGETHER = 128;
export const LINES_BODY_LIMIT = 1024 * 1024;

/** JSON text in bytes; larger outputs are split (spec 2.7, D7). */
export const CHUNK_LIMIT = 1_000_000;

export const REPORT_MEMBERS = ["output", "error", "status", "stopPod"] as const;

export const CHUNK_MEMBERS = ["output", "metrics"] as const;

/** JSON texts. */
export type ReportParts = Partial<Record<Exclude<(typeof REPORT_MEMBERS)[number], "output">, string>> & {
	output?: JsonText;
};

export type Report =
	| { kind: "progress"; value: JsonText }
	| {
			kind: "end";
			on: "complete" | "fail";
			output?: JsonText;
			error?: string;
			restart: boolean;
	  };

/** IN_PROGRESS is progress, a non-null `error` a failure, all else a success. */
export function readReport(parts: ReportParts): Report {
	if (parts.status === '"IN_PROGRESS"') return { kind: "progress", value: parts.output ?? "null" };
	const restart = parts.stopPod === "true";
	const output = parts.output === undefined ? {} : { output: parts.output };
	if (parts.error === undefined || parts.error === "null") return { kind: "end", on: "complete", ...output, restart };
	const error = parts.error.startsWith('"') ? (JSON.parse(parts.error) as string) : parts.error;
	return { kind: "end", on: "fail", ...output, error, restart };
}

/** Types of errors that RunPod's SDK has for a start alone. */
const START_ERRORS = ["PrestartTimeout", "PrestartError", "PrestartCancellationTimeout"];

const REASON_LENGTH = 500;

/**
 * What a failure says of a job that its worker took while it still started: the handler never ran (B.5). Undefined for
 * other failures. `isCrash` is false if the worker was stopped.
 */
export function startFailureIn(error: string | undefined): { reason: string; isCrash: boolean } | undefined {
	if (error === undefined || !/prestart/i.test(error)) return undefined;
	const { event, error_type: type, error_message: message } = membersOf(error);
	if (event === "prestart_cancelled" || error.startsWith("prestart_cancelled"))
		return { reason: "it was stopped before its start had ended", isCrash: false };
	const isText = event === undefined && type === undefined;
	const isStart = isText ? /^(?:prestart_failed|PrestartTimeout)\b/.test(error) : event === "prestart_failed";
	if (!isStart && !START_ERRORS.includes(String(type))) return undefined;
	const said = isText ? error : [type, message].filter((each) => typeof each === "string" && each !== "").join(": ");
	const line = said.replaceAll(/\s+/g, " ").slice(0, REASON_LENGTH);
	return { reason: line === "" ? "its start failed" : `its start failed: ${line}`, isCrash: true };
}

function membersOf(text: string): Record<string, unknown> {
	if (!text.startsWith("{")) return {};
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

/** The failure for a result that is not JSON (D19). */
export function notJson(why: string, bytes: number): Report {
	return {
		kind: "end",
		on: "fail",
		error: `The worker's result of ${bytes} bytes is not JSON: ${why}`,
		restart: false,
	};
}
