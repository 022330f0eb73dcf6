/** Output of launched workers, and the log of the service, as JSON lines or events. */
import { FOLLOW, JOB_FILTER, LINES, SEARCH, type SEARCH_LOGS, TAIL, WHOLE, WORKER_LINES } from "../../api/workers.ts";
import { FOLLOW_LOG } from "../../api/service.ts";
import type { LogEntry } from "../../engine/workers/logs/worker-logs.ts";
import type { Call } from "../exchange/call.ts";
import { valueOf } from "../exchange/params.ts";
import { EVENT_STREAM, lastEventId, wantsEvents } from "../exchange/server-sent-events.ts";
import { type LogForm, sendLog, sendWorkerLogs } from "../exchange/worker-log-stream.ts";
import { newest } from "../../engine/workers/logs/log-search.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { answersElsewhere } from "../server/other-servers.ts";

/** `Last-Event-ID` resumes after that position. */
export function logs(call: Call): Promise<void> {
	const query = {
		from: lastEventId(call.req) ?? (valueOf(call, WHOLE) ? 0 : undefined),
		tail: valueOf(call, TAIL),
		job: valueOf(call, JOB_FILTER),
		follow: valueOf(call, FOLLOW),
	};
	return sendWorkerLogs(call, query, formFor(call));
}

/** The log of this server (D51). */
export function serviceLog(call: Call): Promise<void> {
	const query = { from: lastEventId(call.req), tail: valueOf(call, TAIL), follow: valueOf(call, FOLLOW_LOG) };
	return sendLog(call, formFor(call), (reader) => call.service.log.read({ ...query, ...reader }));
}

function formFor({ req }: Call): LogForm {
	return wantsEvents(req)
		? { headers: EVENT_STREAM, textOf: eventsOf, end: "event: end\ndata: {}\n\n" }
		: { headers: { ...EVENT_STREAM, "Content-Type": "application/x-ndjson" }, textOf: linesOf };
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
