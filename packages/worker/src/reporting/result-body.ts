/** Bodies of reports (protocol B.5). */
import { inspect } from "node:util";
import type { JobReturn } from "../job-return.ts";
import { RawJson } from "../raw-json.ts";
import { kitVersion } from "../version.ts";

/** JSON text, or pieces of its UTF-8, which are posted as they are. */
export type ResultBody = string | readonly Uint8Array[];

/** Its message becomes the job's error. */
export class NotJsonError extends Error {}

/** Throws {@link NotJsonError} (BigInt, cycle, function). */
export function jsonText(value: unknown): string {
	if (value instanceof RawJson) return value.text;
	let text: string | undefined;
	let reason = `a ${typeof value} is not JSON`;
	try {
		text = JSON.stringify(value);
	} catch (error) {
		reason = (error as Error).message.split("\n")[0] ?? "";
	}
	if (text !== undefined) return text;
	throw new NotJsonError(
		`The handler's output cannot be written as JSON: ${reason}. Return plain JSON values; for ` +
			"large integers use JSON.rawJSON or rawJson.",
	);
}

export function chunkBody(text: string): string {
	return `{"output":${text}}`;
}

export function progressBody(value: unknown): string {
	return `{"status":"IN_PROGRESS","output":${jsonText(value ?? null)}}`;
}

/** Final body of a generator. `output`: JSON text, `[]` without aggregation. */
export function outputBody(output: string, stopPod: boolean): string {
	return `{"output":${output}${stopPod ? ',"stopPod":true' : ""}}`;
}

/**
 * Final body for a returned value. As in the SDK, `error` and `refresh_worker` are removed from an object, and `{}`
 * and `undefined` mean no `output`. Throws {@link NotJsonError}.
 */
export function resultBody(value: unknown, stopPod: boolean): ResultBody {
	if (value instanceof RawJson && typeof value.json !== "string") {
		const end = stopPod ? ',"stopPod":true}' : "}";
		return [Buffer.from('{"output":'), value.json, Buffer.from(end)];
	}
	let output = value;
	let error: unknown;
	let stop = stopPod;
	if (isPlainObject(value) && ("error" in value || "refresh_worker" in value)) {
		const { error: given, refresh_worker: refresh, ...rest } = value;
		error = given;
		stop ||= Boolean(refresh);
		output = rest;
	}
	const text = output === undefined ? "{}" : jsonText(output);
	if (text !== "{}" && !error && !stop) return `{"output":${text}}`;
	const members: string[] = [];
	if (text !== "{}") members.push(`"output":${text}`);
	if (error) members.push(`"error":${jsonText(error)}`);
	if (stop) members.push('"stopPod":true');
	return `{${members.join(",")}}`;
}

export function errorBody(sentence: string, stopPod: boolean): string {
	return `{"error":${JSON.stringify(sentence)}${stopPod ? ',"stopPod":true' : ""}}`;
}

/** Maximum characters of a reason that the service takes. */
const REASON_LENGTH = 500;

/**
 * Body that gives a job back. `error` is for a server of an earlier version beside the one that handed the job out: it
 * ignores `return`, and would take a body without an error for a success.
 */
export function returnBody(
	{ message, loss }: JobReturn,
	{ attempt, error, stopPod }: { attempt: number | undefined; error: string; stopPod: boolean },
): string {
	const reason = message.slice(0, REASON_LENGTH).toWellFormed() || "The handler gave no reason.";
	return JSON.stringify({ return: { reason, loss, attempt }, error, ...(stopPod && { stopPod }) });
}

export interface Identity {
	workerId: string;
	hostname: string;
}

/** The `error` for a thrown value, JSON like the SDK's error record. */
export function thrownText(thrown: unknown, { workerId, hostname }: Identity): string {
	if (thrown instanceof NotJsonError) return thrown.message;
	const isError = thrown instanceof Error;
	return JSON.stringify({
		error_type: isError ? thrown.name : typeof thrown,
		error_message: isError ? thrown.message : asText(thrown),
		error_traceback: isError ? (thrown.stack ?? "") : "",
		hostname,
		worker_id: workerId,
		runpod_version: kitVersion,
	});
}

/** The `error` of a yielded item, which ends the stream. Undefined for other items. */
export function itemError(item: unknown): string | undefined {
	if (!isPlainObject(item) || !item.error) return undefined;
	return typeof item.error === "string" ? item.error : jsonText(item.error);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof RawJson);
}

function asText(thrown: unknown): string {
	return typeof thrown === "string" ? thrown : inspect(thrown);
}
