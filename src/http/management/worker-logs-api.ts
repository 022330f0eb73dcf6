/** The output of a worker as RunPod's management API sends it (D49). */
import { LOG_TAIL, SINCE, SOURCE, timeIn } from "../../api/management/worker-logs.ts";
import { ApiError, unprocessable } from "../../core/errors.ts";
import type { LogEntry } from "../../engine/workers/logs/worker-logs.ts";
import type { WallMs } from "../../lib/time.ts";
import { type Call, drained, outside } from "../exchange/call.ts";
import { isoTime } from "../exchange/format.ts";
import { EVENT_STREAM } from "../exchange/server-sent-events.ts";
import { holderNow } from "../gates/auth.ts";
import { answeredElsewhere } from "../server/other-servers.ts";
import { checkedParam } from "./exchange.ts";

/** Digits of a position in the id of an event. */
const DIGITS = 12;

const KEEP_ALIVE = ": keep-alive\n\n";

/** Ends with the caller's key. Forwarded if another server has the worker. */
export async function streamLogs(call: Call): Promise<void> {
	const { engine, params, res, caller } = call;
	const [source, tail, since] = [checkedParam(call, SOURCE), checkedParam(call, LOG_TAIL), checkedParam(call, SINCE)];
	const resume = resumeOf(call);
	const begins = resume ? resume.begins : since !== undefined && ((ms: number) => ms >= since);
	const left = new AbortController();
	caller.onDisconnect = () => left.abort();
	if (caller.disconnected) return;
	const lines = await engine.workers
		.logs({
			endpoint: params.endpoint,
			worker: params.worker,
			from: resume?.position ?? (begins ? 0 : undefined),
			tail: source === "system" ? 0 : tail,
			follow: true,
			stays: true,
			left: left.signal,
			outside: (wait) => outside(call, wait),
		})
		.catch(async (error: unknown) => {
			const elsewhere = error instanceof ApiError && error.code === "worker_not_found";
			if (elsewhere && (await answeredElsewhere(call))) return undefined;
			throw error;
		});
	if (!lines) return;
	res.writeHead(200, EVENT_STREAM);
	res.flushHeaders();
	const frames = framesOf({ begins: begins || undefined, now: () => engine.calendar.now() });
	for await (const entries of lines) {
		if (!(await holderNow(call))) return void res.end();
		const text = source === "system" ? "" : frames(entries);
		if (!res.write(text || KEEP_ALIVE)) await drained(call);
		if (caller.disconnected) return;
	}
	res.end();
}

/** `begins`: the first line that is sent, by its time; default: the first one. */
function framesOf({ begins, now }: { begins: ((ms: number) => boolean) | undefined; now: () => WallMs }) {
	let hasBegun = begins === undefined;
	/** A line without a time has that of the line before. */
	let last: string | undefined;
	return (entries: readonly LogEntry[]): string => {
		let text = "";
		for (const { time, position, text: line } of entries) {
			last = time ?? last;
			hasBegun ||= last !== undefined && begins!(Date.parse(last));
			if (!hasBegun) continue;
			const ts = last ?? isoTime(now());
			const id = `${ts}/${String(position).padStart(DIGITS, "0")}`;
			text += `id: ${id}\ndata: ${JSON.stringify({ ts, source: "container", line })}\n\n`;
		}
		return text;
	};
}

/** Throws 422 for a `Last-Event-ID` that is neither the id of an event nor a time. */
function resumeOf({ req }: Call): { position?: number; begins: ((ms: number) => boolean) | false } | undefined {
	const id = req.headers["last-event-id"];
	if (typeof id !== "string" || id === "") return undefined;
	const [, position] = /^[^/]{1,40}\/(\d{1,15})$/.exec(id) ?? [];
	if (position !== undefined) return { position: Number(position), begins: false };
	const after = timeIn(id);
	if (after !== undefined) return { begins: (ms) => ms > after };
	const message = "must be the id of an event of this stream, or a date and time such as 2026-01-31T12:00:00Z.";
	throw unprocessable([{ field: "Last-Event-ID", message }]);
}
