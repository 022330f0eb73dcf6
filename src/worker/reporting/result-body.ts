/** The bodies a worker posts: results, chunks, progress, errors (protocol B.5). */
import { inspect } from "node:util";
import { RawJson } from "../raw-json.ts";
import { kitVersion } from "../version.ts";

/**
 * Says that a value of the handler cannot be written as JSON. The message is the sentence that
 * fails the job.
 */
export class NotJsonError extends Error {}

/**
 * The JSON text of a value. Throws {@link NotJsonError} for what JSON cannot hold (BigInt, a cycle,
 * a function).
 */
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
		`The handler's output cannot be written as JSON: ${reason}. Give plain JSON values; for large integers use JSON.rawJSON or rawJson.`,
	);
}

/** `{"output": item}`; an `undefined` item is `null`. */
export function chunkBody(text: string): string {
	return `{"output":${text}}`;
}

/** `{"status": "IN_PROGRESS", "output": value}`. */
export function progressBody(value: unknown): string {
	return `{"status":"IN_PROGRESS","output":${jsonText(value ?? null)}}`;
}

/** The final body of a generator: the list of its chunks' texts, empty without aggregation. */
export function streamBody(chunks: readonly string[], stopPod: boolean): string {
	return `{"output":[${chunks.join(",")}]${stopPod ? ',"stopPod":true' : ""}}`;
}

/**
 * The final body for a returned value. `error` and `refresh_worker` of an object are taken out of
 * it as in the SDK; an object without members, and `undefined`, leave no `output`. Throws {@link
 * NotJsonError}.
 */
export function resultBody(value: unknown, stopPod: boolean): string {
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

/** A body that fails the job with a sentence. */
export function errorBody(sentence: string, stopPod: boolean): string {
	return `{"error":${JSON.stringify(sentence)}${stopPod ? ',"stopPod":true' : ""}}`;
}

/** Who speaks in an error record. */
export interface Identity {
	workerId: string;
	hostname: string;
}

/**
 * The text that stands in `error` for something thrown: a JSON object with the members of the SDK's
 * record.
 */
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

/**
 * The `error` text of a yielded item that has a truthy member `error`, which ends the stream;
 * `undefined` for any other item.
 */
export function itemError(item: unknown): string | undefined {
	if (!isPlainObject(item) || !item.error) return undefined;
	return typeof item.error === "string" ? item.error : jsonText(item.error);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
	return (
		typeof value === "object" &&
		value !== null &&
		!Array.isArray(value) &&
		!(value instanceof RawJson)
	);
}

function asText(thrown: unknown): string {
	return typeof thrown === "string" ? thrown : inspect(thrown);
}
