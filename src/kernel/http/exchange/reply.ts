/** Sends answers and errors (D1 to D3). */
import type { ServerResponse } from "node:http";
import { ApiError, errorBody } from "../../core/errors.ts";
import type { Quota } from "../../engine/limits/budget.ts";
import type { JsonPieces } from "../../lib/json/json-text.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { RouteDefinition } from "../../api/definition/route.ts";
import type { Call } from "./call.ts";

const JSON_TYPE = "application/json";

/** Sends a JSON answer. `headers`: name, value, name, value. With `open` the caller must `end` the response. */
export function json(
	res: ServerResponse,
	text: JsonPieces,
	headers: readonly string[] = [],
	status = 200,
	open = false,
	type = JSON_TYPE,
): void {
	const size =
		typeof text === "string" ? Buffer.byteLength(text) : text.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
	res.writeHead(status, [
		"Content-Type",
		type,
		"Content-Length",
		String(size),
		"X-Content-Type-Options",
		"nosniff",
		"Cache-Control",
		"no-store",
		...headers,
	]);
	if (typeof text === "string") {
		if (open) {
			// Without this, the headers of an answer to HEAD are sent only at its end.
			res.flushHeaders();
			res.write(text);
		} else res.end(text);
		return;
	}
	// Sends all pieces in one system call.
	res.cork();
	for (const piece of text) res.write(piece);
	if (open) res.uncork();
	else res.end();
}

/** Headers of {@link json} that are known before the text is. */
export const JSON_HEADERS = {
	"Content-Type": JSON_TYPE,
	"X-Content-Type-Options": "nosniff",
	"Cache-Control": "no-store",
} as const;

/** Answers a HEAD whose GET would wait, deliver, change or never end (D1). */
export function headOnly(res: ServerResponse, headers: Readonly<Record<string, string>>): void {
	res.writeHead(200, headers);
	res.end();
}

/** Answers 204, such as for worker polls (D1). */
export function nothing(res: ServerResponse): void {
	res.writeHead(204);
	res.end();
}

/** Sends a JSON answer. Resolves with true if all of it was written to an open connection (D7 Delivery, D16). */
export function jsonWritten(call: Call, text: JsonPieces, headers: readonly string[] = []): Promise<boolean> {
	const { res } = call;
	return new Promise((resolve) => {
		// Writing to a destroyed socket finishes without an error.
		res.once("finish", () => resolve(!(res.socket?.destroyed ?? call.req.socket.destroyed)));
		res.once("close", () => resolve(res.writableFinished && !call.req.errored && !call.caller.disconnected));
		json(res, text, headers);
	});
}

/** Sets the headers with the rate limit at the request's admission or refusal (D24). */
export function quotaHeaders(res: ServerResponse, { limit, remaining, reset }: Quota): void {
	res.setHeader("RateLimit-Limit", limit);
	res.setHeader("RateLimit-Remaining", remaining);
	res.setHeader("RateLimit-Reset", reset);
}

/** Unknown exceptions become `internal`. */
export function refusalOf(error: unknown, requestId: string): ApiError {
	if (error instanceof ApiError) return error;
	if (error instanceof StoreUnavailable)
		return new ApiError(error.unsure ? "outcome_unknown" : "store_unavailable", {
			why: error.message.replace(/\.$/, ""),
		});
	return new ApiError("internal", { requestId });
}

/**
 * Sends an error in our form or that of its route, or destroys a begun answer. With `close` the caller must `end` the
 * response.
 */
export function refuse(
	res: ServerResponse,
	error: ApiError,
	{ close = false, form }: { close?: boolean; form?: RouteDefinition["errorForm"] } = {},
): void {
	if (res.headersSent || res.destroyed) {
		res.destroy();
		return;
	}
	const headers: string[] = [];
	if (error.retryAfter !== undefined) headers.push("Retry-After", String(error.retryAfter));
	if (error.allow !== undefined) headers.push("Allow", error.allow);
	if (error.status === 401) headers.push("WWW-Authenticate", 'Bearer realm="sluice"');
	if (close) headers.push("Connection", "close");
	json(res, form ? form.body(error) : errorBody(error), headers, error.status, close, form?.media);
}

/** Runs a generator and lets other requests run after each step. */
export async function inSlices<T>(steps: Generator<unknown, T>): Promise<T> {
	let step = steps.next();
	for (; !step.done; step = steps.next()) await new Promise((resolve) => setImmediate(resolve));
	return step.value;
}
