/** The output of a worker as RunPod's management API sends it (D49). */
import { LOG_TAIL, SINCE, SOURCE, timeIn } from "../routes/worker-logs.ts";
import { unprocessable } from "../errors.ts";
import type { LogEntry } from "../../../kernel/engine/workers/logs/worker-logs.ts";
import type { WallMs } from "../../../kernel/lib/time.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { isoTime } from "../../../kernel/http/exchange/format.ts";
import { EVENT_STREAM } from "../../../kernel/http/exchange/server-sent-events.ts";
import { sendWorkerLogs } from "../../../kernel/http/exchange/worker-log-stream.ts";
import { checkedParam } from "../exchange.ts";

/** Digits of a position in the id of an event. */
const DIGITS = 12;

const KEEP_ALIVE = ": keep-alive\n\n";

export function streamLogs(call: Call<"endpoint" | "worker">): Promise<void> {
	const [source, tail, since] = [checkedParam(call, SOURCE), checkedParam(call, LOG_TAIL), checkedParam(call, SINCE)];
	const resume = resumeOf(call);
	const begins = resume ? resume.begins : since !== undefined && ((ms: number) => ms >= since);
	const framed = framesOf({ begins: begins || undefined, now: () => call.engine.calendar.now() });
	const query = {
		from: resume?.position ?? (begins ? 0 : undefined),
		tail: source === "system" ? 0 : tail,
		follow: true,
		stays: true,
	};
	return sendWorkerLogs(call, query, {
		headers: EVENT_STREAM,
		textOf: (entries) => (source === "system" ? "" : framed(entries)) || KEEP_ALIVE,
	});
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
