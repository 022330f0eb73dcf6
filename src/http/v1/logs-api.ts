/**
 * `/v1/endpoints/{endpoint}/workers/{worker}/logs`: what a launched worker wrote, as lines of JSON
 * or as server-sent events.
 */
import { ApiError } from "../../core/errors.ts";
import type { LogEntry } from "../../engine/workers/worker-logs.ts";
import { drained } from "../call.ts";
import type { Call } from "../call.ts";
import { text, valueOf, whole, yes } from "../params.ts";
import { answeredElsewhere } from "./other-servers.ts";

export const TAIL = whole("tail", {
	low: 0,
	high: 10_000,
	otherwise: 100,
	description: "Begin with so many of the last lines.",
});
export const FOLLOW = yes("follow", "Go on with what the worker writes, until it has ended.");
export const JOB = text("job", 100, "Only lines that the worker's SDK ascribes to this job.");

/**
 * GET .../logs: each line `{text, position, job?, level?}`; `Last-Event-ID` goes on after the line
 * with that position. A worker of another server is asked for there.
 */
export async function logs(call: Call): Promise<void> {
	const { engine, params, req, res, caller } = call;
	const left = new AbortController();
	caller.left = () => left.abort();
	if (caller.gone) return;
	const { endpoint, worker } = params;
	const asked = {
		endpoint,
		worker,
		from: lastEventId(call),
		tail: valueOf(call, TAIL) ?? 100,
		job: valueOf(call, JOB),
		follow: valueOf(call, FOLLOW) ?? false,
		left: left.signal,
	};
	const found = await engine.workers.logs(asked).catch(async (error: unknown) => {
		if (
			error instanceof ApiError &&
			error.code === "worker_not_found" &&
			(await answeredElsewhere(call))
		)
			return undefined;
		throw error;
	});
	if (!found) return;
	const events = (req.headers.accept ?? "").includes("text/event-stream");
	res.writeHead(200, {
		"Content-Type": events ? "text/event-stream" : "application/x-ndjson",
		"Cache-Control": "no-cache",
		"X-Accel-Buffering": "no",
	});
	res.flushHeaders();
	for await (const entries of found) {
		if (!res.write(events ? eventsOf(entries) : linesOf(entries))) await drained(call);
		if (caller.gone) return;
	}
	res.end(events ? "event: end\ndata: {}\n\n" : undefined);
}

/** One object a line; an empty line keeps the connection when there is none. */
function linesOf(entries: readonly LogEntry[]): string {
	return entries.length === 0
		? "\n"
		: entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

/** One event a line; a comment keeps the connection when there is none. */
function eventsOf(entries: readonly LogEntry[]): string {
	if (entries.length === 0) return ": waiting\n\n";
	return entries
		.map((entry) => `id: ${entry.position}\ndata: ${JSON.stringify(entry)}\n\n`)
		.join("");
}

function lastEventId({ req }: Call): number | undefined {
	const value = req.headers["last-event-id"];
	return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
