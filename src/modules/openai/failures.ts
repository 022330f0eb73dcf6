/** Failures of jobs in OpenAI's form (D32, protocol B.5, C.2). */
import { isObject } from "../../kernel/lib/schema.ts";
import { type OpenAIFailure, typeOf } from "./error-form.ts";
import { readPython } from "./python-literal.ts";
import type { JobResult } from "../../kernel/core/jobs/job-view.ts";

const ENDS = {
	timed_out: { status: 504, code: "job_timed_out", message: "The job exceeded its execution timeout." },
	no_worker: {
		status: 503,
		code: "no_worker_in_time",
		message: "No worker took the job in time.",
		retryAfter: 5,
	},
	// ConflictError in official clients, which retry it; no status fits better.
	cancelled: { status: 409, code: "job_cancelled", message: "The job was cancelled." },
	removed: {
		status: 409,
		code: "job_removed",
		message: "The job was removed: its queue was purged, or its result has expired.",
	},
	// A new attempt would repeat text that the client already has.
	broken: {
		status: 500,
		code: "attempt_lost",
		message: "The worker was lost during the answer, which is incomplete. Send the request again.",
	},
} as const;

/** Characters searched for an error. */
const MAX_ERROR = 65_536;

/** The SDK's prefix of errors raised by generators. */
const RAISED = "handler: ";

export function failureByEnd(end: keyof typeof ENDS, message?: string): OpenAIFailure {
	const { message: fallback, ...rest } = ENDS[end];
	return { message: message ?? fallback, type: typeOf(rest.status), param: null, ...rest };
}

export function failureOfJob({ job, error }: JobResult): OpenAIFailure {
	if (job.state === "CANCELLED") return failureByEnd("cancelled", error);
	if (job.state === "TIMED_OUT") return failureByEnd(job.startedAt === undefined ? "no_worker" : "timed_out", error);
	return failureOfError(error ?? "The worker failed without a message.");
}

/**
 * Finds `{object: "error", message, code}`, or an object with only `error`, in the output of a COMPLETED job (protocol
 * C.2).
 */
export function failureInOutput(output: string): OpenAIFailure | undefined {
	if (output.length > MAX_ERROR || !output.includes('"error"')) return undefined;
	const error = errorIn(parsed(output));
	return error && failure(statusIn(error), error);
}

/** The status is that relayed from vLLM, else the numeric code of an OpenAI error, else 500. Tracebacks are removed. */
export function failureOfError(text: string): OpenAIFailure {
	const value = parsed(text) ?? (text.length <= MAX_ERROR ? readPython(text) : undefined);
	const message =
		messageOf(value) ??
		(isObject(value) && "error_traceback" in value ? "The worker failed without a message." : withoutTraceback(text));
	const relayed = /^vLLM returned HTTP (\d{3}): ?/.exec(message);
	if (relayed) {
		const body = message.slice(relayed[0].length);
		const inner = parsed(body);
		return failure(within(Number(relayed[1])), errorIn(inner) ?? { message: messageOf(inner) ?? body });
	}
	const error = errorIn(value) ?? (isObject(value) && typeof value["message"] === "string" ? value : undefined);
	return error ? failure(statusIn(error), error) : failure(500, { message, code: "worker_failed" });
}

function failure(status: number, error: Record<string, unknown>): OpenAIFailure {
	const { type, param, code } = error;
	return {
		status,
		message: String(error["message"]),
		type: typeof type === "string" ? type : typeOf(status),
		param: typeof param === "string" ? param : null,
		code: typeof code === "string" || typeof code === "number" ? code : null,
	};
}

/** An object with members besides `error` is a result. */
function errorIn(value: unknown): Record<string, unknown> | undefined {
	if (!isObject(value)) return undefined;
	if (value["object"] === "error" && typeof value["message"] === "string") return value;
	const { error } = value;
	return Object.keys(value).length === 1 && isObject(error) && typeof error["message"] === "string" ? error : undefined;
}

/** Error records, error objects and answers of vLLM's framework have messages. */
function messageOf(value: unknown): string | undefined {
	if (!isObject(value)) return undefined;
	return [value["error_message"], value["message"], value["detail"]].find((each) => typeof each === "string");
}

/**
 * The SDK sends `handler: <text>
 * traceback: <text>`.
 */
function withoutTraceback(text: string): string {
	const end = text.startsWith(RAISED) ? text.indexOf("\ntraceback: ") : -1;
	return end < 0 ? text : text.slice(RAISED.length, end).trimEnd();
}

function statusIn({ code }: Record<string, unknown>): number {
	return typeof code === "number" ? within(code) : 500;
}

function within(status: number): number {
	return Number.isInteger(status) && status >= 400 && status <= 599 ? status : 500;
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
