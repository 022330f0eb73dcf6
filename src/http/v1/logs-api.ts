/** Output of launched workers as JSON lines or events. */
import { FOLLOW, JOB_FILTER, LINES, SEARCH, type SEARCH_LOGS, TAIL, WHOLE, WORKER_LINES } from "../../api/workers.ts";
import { ApiError } from "../../core/errors.ts";
import type { LogEntry } from "../../engine/workers/logs/worker-logs.ts";
import { holderNow } from "../gates/auth.ts";
import { type Call, drained, outside } from "../exchange/call.ts";
import { valueOf } from "../exchange/params.ts";
import { EVENT_STREAM, lastEventId, wantsEvents } from "../exchange/server-sent-events.ts";
import { newest } from "../../engine/workers/logs/log-search.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { answeredElsewhere, answersElsewhere } from "../server/other-servers.ts";

/**
 * `Last-Event-ID` resumes after that position. Ends with the caller's key or session. Forwarded if another server
 * has the worker.
 */
export async function logs(call: Call): Promise<void> {
	const { engine, params, req, res, caller } = call;
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	if (caller.disconnected) return;
	const lines = await engine.workers
		.logs({
			endpoint: params.endpoint,
			worker: params.worker,
			from: lastEventId(req) ?? (valueOf(call, WHOLE) ? 0 : undefined),
			tail: valueOf(call, TAIL),
			job: valueOf(call, JOB_FILTER),
			follow: valueOf(call, FOLLOW),
			left: left.signal,
			outside: (wait) => outside(call, wait),
		})
		.catch(async (error: unknown) => {
			const elsewhere = error instanceof ApiError && error.code === "worker_not_found";
			if (elsewhere && (await answeredElsewhere(call))) return undefined;
			throw error;
		});
	if (!lines) return;
	const events = wantsEvents(req);
	res.writeHead(200, events ? EVENT_STREAM : { ...EVENT_STREAM, "Content-Type": "application/x-ndjson" });
	res.flushHeaders();
	for await (const entries of lines) {
		if (!(await holderNow(call))) return void res.end();
		if (!res.write(events ? eventsOf(entries) : linesOf(entries))) await drained(call);
		if (caller.disconnected) return;
	}
	res.end(events ? "event: end\ndata: {}\n\n" : undefined);
}

/** Asks all servers, each of which keeps the logs of its workers. */
export async function search(call: Call): Promise<AnswerOf<typeof SEARCH_LOGS>> {
	const { engine, params, caller } = call;
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	const limit = valueOf(call, LINES);
	const [own, others] = await Promise.all([
		engine.workers.searchLogs({
			endpoint: params.endpoint,
			search: valueOf(call, SEARCH),
			worker: valueOf(call, WORKER_LINES),
			job: valueOf(call, JOB_FILTER),
			limit,
			left: left.signal,
		}),
		answersElsewhere<AnswerOf<typeof SEARCH_LOGS>>(call, left.signal),
	]);
	const found = newest(
		[own, ...others].flatMap(({ lines }) => lines),
		limit,
	);
	return { ...found, more: [found, own, ...others].some(({ more }) => more) };
}

/** An empty line keeps an idle connection open. */
function linesOf(entries: readonly LogEntry[]): string {
	return entries.length === 0 ? "\n" : entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

function eventsOf(entries: readonly LogEntry[]): string {
	if (entries.length === 0) return ": waiting\n\n";
	return entries.map((entry) => `id: ${entry.position}\ndata: ${JSON.stringify(entry)}\n\n`).join("");
}
