/**
 * What a job's error says: a text, or the JSON object that RunPod's SDK sends, with the type, the
 * message and the traceback of a Python exception.
 */
import { className } from "../../../../src/kernel/lib/text.ts";
import { readExact } from "../../text/exact.ts";

export interface JobError {
	/** One sentence, or the whole text where it is none of the known forms. */
	message: string;
	/** The class of the exception. */
	type?: string;
	/** Stack trace. */
	trace?: string;
	/** What else the worker sent. */
	rest?: Readonly<Record<string, unknown>>;
}

export function readError(text: string): JobError {
	const value = objectIn(text);
	if (!value) return withTrace(text);
	const { error_type: type, error_message: message, error_traceback: trace, ...rest } = value;
	const named = message ?? value["error"] ?? value["message"];
	if (typeof named !== "string") return { message: text, rest: value };
	if (named === rest["error"]) delete rest["error"];
	if (named === rest["message"]) delete rest["message"];
	// RunPod's SDK adds these to every error; the job's page has its worker.
	for (const name of ["runpod_version", "worker_id"]) delete rest[name];
	if (rest["hostname"] === "unknown") delete rest["hostname"];
	return {
		message: named,
		...(typeof type === "string" ? { type: className(type) } : {}),
		...(typeof trace === "string" && trace.trim() !== "" ? { trace } : {}),
		...(Object.keys(rest).length > 0 ? { rest } : {}),
	};
}

/** The error on one line. */
export function firstLine(text: string): string {
	const { type, message } = readError(text);
	const [line = ""] = message.trim().split(/[\r\n]/, 1);
	return type === undefined || line.startsWith(type) ? line : `${type}: ${line}`;
}

/** A text whose further lines are a stack trace, as Node writes it. */
function withTrace(text: string): JobError {
	const at = text.search(/\r?\n[ \t]+at /);
	return at < 0 ? { message: text } : { message: text.slice(0, at), trace: text.slice(at).replace(/^\r?\n/, "") };
}

function objectIn(text: string): Record<string, unknown> | undefined {
	if (!text.trimStart().startsWith("{")) return undefined;
	try {
		const value = readExact(text);
		return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
	} catch {
		return undefined;
	}
}

/** The beginning of an input on one line; long runs of base64 are cut. */
export function previewOf(text: string): string {
	return text
		.replace(/[\w+/=-]{60,}/g, (run) => `${run.slice(0, 12)}…`)
		.replace(/\s+/g, " ")
		.slice(0, 200);
}
