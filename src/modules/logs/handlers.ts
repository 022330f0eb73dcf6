/** Output of launched workers, and the log of the service, as JSON lines or events. */
import { CURSOR, ENDPOINT_FILTER } from "../../kernel/api/definition/params.ts";
import type { AnswerOf } from "../../kernel/api/definition/route.ts";
import type { LogEntry } from "../../kernel/engine/workers/logs/worker-logs.ts";
import { type Call, valueOf } from "../../kernel/http/exchange/call.ts";
import { EVENT_STREAM, lastEventId, wantsEvents } from "../../kernel/http/exchange/server-sent-events.ts";
import { type LogForm, sendLog, sendWorkerLogs } from "../../kernel/http/exchange/worker-log-stream.ts";
import { answersElsewhere } from "../../kernel/http/server/other-servers.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { NumberedLine } from "../../kernel/system/recent-lines.ts";
import { type LineFilter, lineFilter } from "./line-filter.ts";
import { pageOf, searchLogs } from "./log-search.ts";
import {
	FOLLOW,
	FOLLOW_LOG,
	JOB_FILTER,
	LEVEL,
	LINES,
	SEARCH,
	type SEARCH_LOGS,
	SINCE,
	SUBJECT,
	TAIL,
	UNTIL,
	WHOLE,
	WORKER_LINES,
} from "./routes.ts";

/** `Last-Event-ID` resumes after that position. */
export function workerLog(call: Call<"endpoint" | "worker">): Promise<void> {
	const query = {
		from: lastEventId(call.req) ?? (valueOf(call, WHOLE) ? 0 : undefined),
		tail: valueOf(call, TAIL),
		job: valueOf(call, JOB_FILTER),
		follow: valueOf(call, FOLLOW),
	};
	return sendWorkerLogs(call, query, formFor(call));
}

/** The log of this server (D51). */
export function serviceLog(call: Call, log: Kernel["log"]): Promise<void> {
	const [endpoint, subject] = [valueOf(call, ENDPOINT_FILTER), valueOf(call, SUBJECT)];
	const passes = lineFilter(filterOf(call));
	const query = {
		from: lastEventId(call.req),
		tail: valueOf(call, TAIL),
		follow: valueOf(call, FOLLOW_LOG),
		fits: (line: NumberedLine): boolean =>
			(endpoint === undefined || line.endpoint === endpoint) &&
			(subject === undefined || line.text.includes(subject)) &&
			passes(line),
	};
	return sendLog(call, formFor(call), (reader) => log.read({ ...query, ...reader }));
}

function filterOf(call: Call): LineFilter {
	return {
		search: valueOf(call, SEARCH),
		level: valueOf(call, LEVEL),
		since: valueOf(call, SINCE),
		until: valueOf(call, UNTIL),
	};
}

function formFor({ req }: Call): LogForm {
	return wantsEvents(req)
		? { headers: EVENT_STREAM, textOf: eventsOf, end: "event: end\ndata: {}\n\n" }
		: { headers: { ...EVENT_STREAM, "Content-Type": "application/x-ndjson" }, textOf: linesOf };
}

/** Asks all servers, each of which keeps the logs of its workers. */
export async function search(
	call: Call<"endpoint">,
	logs: Kernel["workerLogs"],
): Promise<AnswerOf<typeof SEARCH_LOGS>> {
	const { params, caller } = call;
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	const limit = valueOf(call, LINES);
	const [own, others] = await Promise.all([
		searchLogs(logs, {
			...filterOf(call),
			endpoint: params.endpoint,
			cursor: valueOf(call, CURSOR),
			worker: valueOf(call, WORKER_LINES),
			job: valueOf(call, JOB_FILTER),
			limit,
			left: left.signal,
		}),
		answersElsewhere<AnswerOf<typeof SEARCH_LOGS>>(call, left.signal),
	]);
	const found = pageOf([own, ...others], limit);
	return { ...found, more: found.next !== undefined };
}

/** An empty line keeps an idle connection open. */
function linesOf(entries: readonly LogEntry[]): string {
	return entries.length === 0 ? "\n" : entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

function eventsOf(entries: readonly LogEntry[]): string {
	if (entries.length === 0) return ": waiting\n\n";
	return entries.map((entry) => `id: ${entry.position}\ndata: ${JSON.stringify(entry)}\n\n`).join("");
}
