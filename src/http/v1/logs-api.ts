/** Output of launched workers as JSON lines or events. */
import { FOLLOW, JOB_FILTER, LINES, SEARCH, type SEARCH_LOGS, TAIL, WHOLE, WORKER_LINES } from "../../api/workers.ts";
import type { LogEntry } from "../../engine/workers/logs/worker-logs.ts";
import type { Call } from "../exchange/call.ts";
import { valueOf } from "../exchange/params.ts";
import { EVENT_STREAM, lastEventId, wantsEvents } from "../exchange/server-sent-events.ts";
import { sendWorkerLogs } from "../exchange/worker-log-stream.ts";
import { newest } from "../../engine/workers/logs/log-search.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { answersElsewhere } from "../server/other-servers.ts";

/** `Last-Event-ID` resumes after that position. */
export function logs(call: Call): Promise<void> {
	const events = wantsEvents(call.req);
	const query = {
		from: lastEventId(call.req) ?? (valueOf(call, WHOLE) ? 0 : undefined),
		tail: valueOf(call, TAIL),
		job: valueOf(call, JOB_FILTER),
		follow: valueOf(call, FOLLOW),
	};
	const headers = events ? EVENT_STREAM : { ...EVENT_STREAM, "Content-Type": "application/x-ndjson" };
	return sendWorkerLogs(call, query, {
		headers,
		textOf: events ? eventsOf : linesOf,
		...(events && { end: "event: end\ndata: {}\n\n" }),
	});
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
