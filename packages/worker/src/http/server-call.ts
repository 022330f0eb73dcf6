/** Short requests beside those of jobs: progress, cancel, sleep, wake. */
import type { ConnectOptions, Server } from "./connection.ts";
import { exchange, readStart } from "./exchange.ts";
import type { PreparedRequest } from "./request.ts";

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
	request: PreparedRequest,
	{ withinMs, ...options }: ConnectOptions & { withinMs: number },
): Promise<CallAnswer> {
	const { clock, signal } = options;
	const timeout = new AbortController();
	const done = new AbortController();
	void clock.sleep(withinMs, done.signal).then(() => timeout.abort());
	try {
		const either = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
		const answer = await exchange(server, { ...options, ...request, signal: either });
		const { text, end } = await readStart(answer, { maxBytes: MAX_BODY, withinMs: undefined, clock });
		return { status: answer.status, text, value: end === "whole" ? parsed(text) : undefined };
	} catch (error) {
		if (timeout.signal.aborted) throw new Error(`no answer within ${withinMs} ms`, { cause: error });
		throw error;
	} finally {
		done.abort();
	}
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
