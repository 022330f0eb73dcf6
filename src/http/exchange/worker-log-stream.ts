/** The output of a launched worker, as a stream of text. */
import { ApiError } from "../../core/errors.ts";
import type { LogEntry } from "../../engine/workers/logs/worker-logs.ts";
import type { Workers } from "../../engine/workers/workers.ts";
import { holderNow } from "../gates/auth.ts";
import { answeredElsewhere } from "../server/other-servers.ts";
import { type Call, drained, outside } from "./call.ts";

type Query = Omit<Parameters<Workers["logs"]>[0], "endpoint" | "worker" | "left" | "outside">;

/**
 * Ends with the caller's key or session. Forwarded if another server has the worker. `textOf` gets an empty list to
 * keep an idle connection open.
 */
export async function sendWorkerLogs(
	call: Call,
	query: Query,
	q: { headers: Readonly<Record<string, string>>; textOf: (entries: readonly LogEntry[]) => string; end?: string },
): Promise<void> {
	const { engine, params, res, caller } = call;
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	if (caller.disconnected) return;
	const { endpoint, worker } = params;
	const lines = await engine.workers
		.logs({ ...query, endpoint, worker, left: left.signal, outside: (wait) => outside(call, wait) })
		.catch(async (error: unknown) => {
			const elsewhere = error instanceof ApiError && error.code === "worker_not_found";
			if (elsewhere && (await answeredElsewhere(call))) return undefined;
			throw error;
		});
	if (!lines) return;
	res.writeHead(200, q.headers);
	res.flushHeaders();
	for await (const entries of lines) {
		if (!(await holderNow(call))) return void res.end();
		if (!res.write(q.textOf(entries))) await drained(call);
		if (caller.disconnected) return;
	}
	res.end(q.end);
}
