/** Short requests beside those of jobs: readiness, progress, cancel, sleep, wake. */
import type { ConnectOptions, Server } from "./connection.ts";
import { exchange, readStart } from "./exchange.ts";
import type { PreparedRequest } from "./request.ts";
import { timeLimit } from "./time-limit.ts";

const MAX_BODY = 1_048_576;

export interface CallAnswer {
	status: number;
	text: string;
	/** Undefined if the body is not JSON, or longer than 1 MB. */
	value: unknown;
}

/** Rejects with a sentence without an answer within `withinMs`. */
export async function callServer(
	server: Server,
	request: Pick<PreparedRequest, "method" | "path" | "headers" | "body">,
	{ withinMs, ...options }: ConnectOptions & { withinMs: number },
): Promise<CallAnswer> {
	const limit = timeLimit(withinMs, options);
	try {
		const answer = await exchange(server, { ...options, ...request, signal: limit.signal });
		const { text, end } = await readStart(answer, MAX_BODY);
		if (limit.isOver) throw new Error("cut");
		return { status: answer.status, text, value: end === "whole" ? parsedJson(text) : undefined };
	} catch (error) {
		if (limit.isOver) throw new Error(`no answer within ${withinMs} ms`, { cause: error });
		throw error;
	} finally {
		limit.end();
	}
}

/** Undefined for a text that is no JSON. */
export function parsedJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
