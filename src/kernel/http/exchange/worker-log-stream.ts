/** Lines of a log as a stream of text. */
import { ApiError } from "../../core/errors.ts";
import type { LogEntry } from "../../engine/workers/logs/worker-logs.ts";
import type { Workers } from "../../engine/workers/workers.ts";
import { holderNow } from "../gates/auth.ts";
import { answeredElsewhere } from "../server/other-servers.ts";
import { type Call, drained, isHead, outside } from "./call.ts";
import { headOnly } from "./reply.ts";

type Query = Omit<Parameters<Workers["logs"]>[0], "endpoint" | "worker" | "left" | "outside">;

/** `textOf` gets an empty list to keep an idle connection open. */
export interface LogForm {
	headers: Readonly<Record<string, string>>;
	textOf: (entries: readonly LogEntry[]) => string;
	end?: string;
}

interface Reader {
	left: AbortSignal;
	outside: <T>(wait: Promise<T>) => Promise<T>;
}

/** Sends the output of a launched worker. The request is forwarded if another server has it. */
export function sendWorkerLogs(call: Call<"endpoint" | "worker">, query: Query, form: LogForm): Promise<void> {
	const { endpoint, worker } = call.params;
	return sendLog(call, form, (reader) =>
		call.engine.workers.logs({ ...query, ...reader, endpoint, worker }).catch(async (error: unknown) => {
			const elsewhere = error instanceof ApiError && error.code === "worker_not_found";
			if (elsewhere && (await answeredElsewhere(call))) return undefined;
			throw error;
		}),
	);
}

/**
 * Streams a log until it ends, or until the caller's key or session does. `open` returns undefined if it has already
 * answered.
 */
export async function sendLog(
	call: Call,
	q: LogForm,
	open: (reader: Reader) => AsyncIterable<LogEntry[]> | Promise<AsyncIterable<LogEntry[]> | undefined>,
): Promise<void> {
	const { res, caller } = call;
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	if (caller.disconnected) return;
	const lines = await open({ left: left.signal, outside: (wait) => outside(call, wait) });
	if (!lines) return;
	if (isHead(call)) return headOnly(res, q.headers);
	res.writeHead(200, q.headers);
	res.flushHeaders();
	for await (const entries of lines) {
		if (!(await holderNow(call))) return void res.end();
		if (!res.write(q.textOf(entries))) await drained(call);
		if (caller.disconnected) return;
	}
	res.end(q.end);
}
