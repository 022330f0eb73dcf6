/**
 * Failures under `/openai/*` in OpenAI's form (D32): refusals, ends of jobs, and what workers say
 * in their own ways (protocol B.5, C.2).
 */
import type { ApiError } from "../errors.ts";
import { readPython } from "./python-literal.ts";
import type { JobResult } from "../job-view.ts";

/** A failure to be answered, or told in the middle of a stream. */
export interface OpenAIFailure {
	/** HTTP status, 400 to 599. */
	status: number;
	message: string;
	type: string;
	param: string | null;
	code: string | number | null;
	/** Seconds for `Retry-After`; absent where the same request would fail again. */
	retryAfter?: number;
}

/** How jobs end without a word of their worker. */
const ENDS = {
	timed_out: { status: 504, code: "job_timed_out", otherwise: "The job ran longer than it may." },
	no_worker: {
		status: 503,
		code: "no_worker_in_time",
		otherwise: "No worker took the job in time.",
		retryAfter: 5,
	},
	// 409 becomes a ConflictError in the official clients; they repeat it unless told not to. No
	// client error says "somebody else ended this".
	cancelled: {
		status: 409,
		code: "job_cancelled",
		otherwise: "The job was cancelled before it had ended.",
	},
	removed: {
		status: 409,
		code: "job_removed",
		otherwise: "The job is no more: its queue was purged, or its result has expired.",
	},
	// The text of a new attempt would begin anew, behind what the client has already got of the lost
	// one.
	broken: {
		status: 500,
		code: "attempt_lost",
		otherwise:
			"The worker was lost in the middle of its answer. What came so far is not whole; send the request again.",
	},
} as const;

/**
 * Largest output that is looked at for an error, and largest text that is read as Python's,
 * characters.
 */
const ERROR_LONGEST = 65_536;

/** How the SDK begins what a generator raised. */
const RAISED = "handler: ";

/** `{"error": {message, type, param, code}}` as JSON text. */
export function failureBody({ message, type, param, code }: OpenAIFailure): string {
	return JSON.stringify({ error: { message, type, param, code } });
}

/** A refusal of ours in this form; its `param` is the first bad field. */
export function failureOfRefusal(error: ApiError): OpenAIFailure {
	const { status, message, code, details, retryAfter } = error;
	return {
		status,
		message,
		type: typeOf(status),
		param: details?.[0]?.field ?? null,
		code,
		...(retryAfter === undefined ? {} : { retryAfter }),
	};
}

/** An end that the job itself does not tell. */
export function failureByEnd(end: keyof typeof ENDS, message?: string): OpenAIFailure {
	const { otherwise, ...rest } = ENDS[end];
	return { message: message ?? otherwise, type: typeOf(rest.status), param: null, ...rest };
}

/** The failure of a job that has ended in another state than COMPLETED. */
export function failureOfJob({ job, error }: JobResult): OpenAIFailure {
	if (job.state === "CANCELLED") return failureByEnd("cancelled", error);
	if (job.state === "TIMED_OUT")
		return failureByEnd(job.startedAt === undefined ? "no_worker" : "timed_out", error);
	return failureSaid(error ?? "The worker failed without a message.");
}

/**
 * The failure that an output of a COMPLETED job is: `{object: "error", message, code}`, or an
 * object with nothing but an `error` (protocol C.2). Undefined for results.
 */
export function failureInOutput(output: string): OpenAIFailure | undefined {
	if (output.length > ERROR_LONGEST || !output.includes('"error"')) return undefined;
	const error = errorIn(parsed(output));
	return error && failure(statusIn(error), error);
}

/**
 * What a worker's `error` text means: an error relayed from vLLM has its status, any OpenAI error
 * with a numeric code that one, all else is 500. Tracebacks are left out.
 */
export function failureSaid(text: string): OpenAIFailure {
	const said = parsed(text) ?? (text.length <= ERROR_LONGEST ? readPython(text) : undefined);
	const message =
		messageOf(said) ??
		(isObject(said) && "error_traceback" in said
			? "The worker failed without a message."
			: withoutTraceback(text));
	const relayed = /^vLLM returned HTTP (\d{3}): ?/.exec(message);
	if (relayed) {
		const body = message.slice(relayed[0].length);
		const inner = parsed(body);
		return failure(
			within(Number(relayed[1])),
			errorIn(inner) ?? { message: messageOf(inner) ?? body },
		);
	}
	const error =
		errorIn(said) ?? (isObject(said) && typeof said["message"] === "string" ? said : undefined);
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

/**
 * The error object in a value of OpenAI's form. An answer that has an `error` among other members
 * is a result.
 */
function errorIn(value: unknown): Record<string, unknown> | undefined {
	if (!isObject(value)) return undefined;
	if (value["object"] === "error" && typeof value["message"] === "string") return value;
	const { error } = value;
	return Object.keys(value).length === 1 && isObject(error) && typeof error["message"] === "string"
		? error
		: undefined;
}

/** The sentence in an error record, an error object or an answer of vLLM's framework. */
function messageOf(value: unknown): string | undefined {
	if (!isObject(value)) return undefined;
	return [value["error_message"], value["message"], value["detail"]].find(
		(each) => typeof each === "string",
	);
}

/** What a generator raised, as the SDK tells it: `handler: <text> \ntraceback: <text>`. */
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

function typeOf(status: number): string {
	if (status >= 500) return "server_error";
	if (status === 401) return "authentication_error";
	return status === 429 ? "rate_limit_error" : "invalid_request_error";
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
