/** Log lines of a launched worker (protocol B.9). */
import { ApiError } from "../../../core/errors.ts";
import { sdkLine } from "../../../core/workers/log-line.ts";
import type { LogLine, WorkerLogs } from "../../../launchers/launcher.ts";
import { isWorkerOf } from "../launch/worker-spec.ts";
import type { WorkersContext } from "../workers-context.ts";

const POLL_MS = 250;

/** An empty list is sent this often while there are no new lines, to keep the connection. */
const KEEP_ALIVE_MS = 15_000;

/** How much of the end is read for the last lines; four times as much if that is too little. */
const TAIL_BYTES = 64 * 1024;

/** A line, or a piece of a very long one. `level` and `job` as the SDK wrote them, else `job` is the only one held. */
export interface LogEntry {
	text: string;
	/** Where the next line begins. */
	position: number;
	/** ISO 8601. */
	time?: string | undefined;
	job?: string | undefined;
	level?: string | undefined;
}

export interface LogQuery {
	endpoint: string;
	worker: string;
	/** Position to start at; without it the last `tail` lines. */
	from?: number | undefined;
	tail: number;
	job?: string | undefined;
	/** Until the worker has exited or `left`. */
	follow: boolean;
	/** Between two reads of a log without new lines, default 250. */
	pollMs?: number;
	/** Goes on until `left`, with empty lists only once the worker has exited. */
	stays?: boolean;
	left: AbortSignal;
	/** Runs the waits for new lines. */
	outside?: <T>(wait: Promise<T>) => Promise<T>;
}

/** Reads only as fast as the caller iterates. Throws `worker_not_found`. */
export async function readLog(d: WorkersContext, q: LogQuery): Promise<AsyncIterable<LogEntry[]>> {
	const logs = d.workerLogs;
	const extent = isWorkerOf(q.endpoint, q.worker) ? await logs.extent(q.worker) : undefined;
	// A worker that is being started has written nothing yet.
	if (!extent && !isRunning(d, q)) throw new ApiError("worker_not_found", { worker: q.worker, endpoint: q.endpoint });
	return entries(d, q, q.from ?? (extent ? await tailFrom(logs, q, extent) : 0));
}

function isRunning({ registry }: WorkersContext, { endpoint, worker }: LogQuery): boolean {
	return registry.get({ endpoint, id: worker })?.managed === true;
}

async function* entries(d: WorkersContext, q: LogQuery, from: number): AsyncGenerator<LogEntry[]> {
	const { outside = (wait) => wait, pollMs = POLL_MS } = q;
	let quietMs = 0;
	for (let at = from; !q.left.aborted; ) {
		// Checked before reading, so that the last lines of an ending worker are read.
		const continues = q.follow && isRunning(d, q);
		const part = await d.workerLogs.read({ workerId: q.worker, from: at, whole: !continues });
		at = part?.next ?? at;
		const found = (part?.lines ?? []).map(entryOf).filter(({ job }) => q.job === undefined || job === q.job);
		if (found.length > 0 || quietMs >= KEEP_ALIVE_MS) {
			quietMs = 0;
			yield found;
		}
		if (part && !part.end) continue;
		if (!continues && q.stays !== true) return;
		const pauseMs = continues ? pollMs : KEEP_ALIVE_MS;
		await outside(d.clock.sleep(pauseMs, q.left));
		quietMs += pauseMs;
	}
}

async function tailFrom(
	logs: WorkerLogs,
	{ worker, tail, job }: Pick<LogQuery, "worker" | "tail" | "job">,
	{ first, last }: { first: number; last: number },
): Promise<number> {
	for (let back = TAIL_BYTES; ; back *= 4) {
		const from = Math.max(first, last - back);
		let starts: number[] = [];
		let end = from;
		// Only up to the first extent: a worker may write faster than this reads.
		for (let at = from; at < last; ) {
			const part = await logs.read({ workerId: worker, from: at, whole: true });
			if (!part || part.lines.length === 0) break;
			for (const line of part.lines) {
				const inside = at === from && line === part.lines[0] && from > first;
				if (!inside && line.position <= last && (job === undefined || entryOf(line).job === job)) starts.push(end);
				end = line.position;
			}
			at = part.next;
			if (starts.length > 2 * tail) starts = starts.slice(-tail - 1);
		}
		if (tail === 0) return Math.min(end, last);
		if (starts.length >= tail || from === first) return starts.at(-tail) ?? starts[0] ?? Math.min(end, last);
	}
}

/** What the SDK says of its line goes before what the worker held. */
export function entryOf({ text, position, time, job }: LogLine): LogEntry {
	const line = sdkLine(text);
	const of = line.job ?? job;
	return {
		text: line.text,
		position,
		...(time !== undefined && { time: new Date(time).toISOString() }),
		...(of !== undefined && { job: of }),
		...(line.level !== undefined && { level: line.level }),
	};
}
