/**
 * What a launched worker wrote, told line by line: the last lines, then what comes, of one job if
 * wanted (protocol B.9).
 */
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/errors.ts";
import type { LogLine, WorkerLogs } from "../../launchers/launcher.ts";
import { isWorkerOf } from "./worker-spec.ts";
import type { WorkerRegistry } from "./worker-registry.ts";

/** Time between two looks for new lines, ms. */
const LOOK_MS = 250;

/**
 * An empty list is told at least this often while there is nothing new, ms, so that the connection
 * is kept.
 */
const KEEP_ALIVE_MS = 15_000;

/**
 * How much of the end is looked at for the last lines, bytes; four times as much whenever that was
 * too little.
 */
const TAIL_BYTES = 64 * 1024;

/** A line, or a piece of a very long one. `job` and `level` as the worker's SDK tells them. */
export interface LogEntry {
	text: string;
	/** Where to read on after it. */
	position: number;
	job?: string;
	level?: string;
}

/** Which lines of which worker. */
export interface LogQuery {
	endpoint: string;
	worker: string;
	/** From this position on; without it the last `tail` lines. */
	from?: number | undefined;
	tail: number;
	/** Only lines of this job. */
	job?: string | undefined;
	/** Goes on until the worker has ended or `left`. */
	follow: boolean;
	left: AbortSignal;
}

/**
 * Reads logs. Nothing is read before it is asked for, so a slow reader holds up nobody. Throws
 * `worker_not_found`.
 */
export function logReader(d: {
	clock: Clock;
	logs: WorkerLogs;
	workers: WorkerRegistry;
}): (q: LogQuery) => Promise<AsyncIterable<LogEntry[]>> {
	return async (q) => {
		const extent = isWorkerOf(q.endpoint, q.worker) ? await d.logs.extent(q.worker) : undefined;
		// One that is only just being started has written nothing yet.
		if (!extent && !launched(d.workers, q))
			throw new ApiError("worker_not_found", { worker: q.worker, endpoint: q.endpoint });
		return entries(d, q, q.from ?? (extent ? await tailFrom(d.logs, q, extent) : 0));
	};
}

/** Whether it is a worker of ours that has not ended. */
function launched(workers: WorkerRegistry, { endpoint, worker }: LogQuery): boolean {
	return (workers.get({ endpoint, id: worker })?.launcher ?? "external") !== "external";
}

async function* entries(
	d: { clock: Clock; logs: WorkerLogs; workers: WorkerRegistry },
	q: LogQuery,
	from: number,
): AsyncGenerator<LogEntry[]> {
	let quietMs = 0;
	for (let at = from; !q.left.aborted; ) {
		// Asked before reading: what a worker writes before its end is told.
		const goesOn = q.follow && launched(d.workers, q);
		const part = (await d.logs.read({ workerId: q.worker, from: at, whole: !goesOn })) ?? {
			lines: [],
			next: at,
			end: true,
		};
		at = part.next;
		const found = part.lines.map(entryOf).filter(({ job }) => q.job === undefined || job === q.job);
		if (found.length > 0 || quietMs >= KEEP_ALIVE_MS) {
			quietMs = 0;
			yield found;
		}
		if (!part.end) continue;
		if (!goesOn) return;
		await d.clock.sleep(LOOK_MS, q.left);
		quietMs += LOOK_MS;
	}
}

/** Where the last `tail` lines that are wanted begin. */
async function tailFrom(
	logs: WorkerLogs,
	{ worker, tail, job }: LogQuery,
	{ first, last }: { first: number; last: number },
): Promise<number> {
	for (let back = TAIL_BYTES; ; back *= 4) {
		const from = Math.max(first, last - back);
		let starts: number[] = [];
		let end = from;
		// Only what was there when it was asked for: a worker may write faster than this reads.
		for (let at = from; at < last; ) {
			const part = await logs.read({ workerId: worker, from: at, whole: true });
			if (!part || part.lines.length === 0) break;
			for (const line of part.lines) {
				// The first line may be the end of one.
				const inside = at === from && line === part.lines[0] && from > first;
				if (!inside && line.position <= last && (job === undefined || entryOf(line).job === job))
					starts.push(end);
				end = line.position;
			}
			at = part.next;
			if (starts.length > 2 * tail) starts = starts.slice(-tail - 1);
		}
		if (tail === 0) return Math.min(end, last);
		if (starts.length >= tail || from === first)
			return starts.at(-tail) ?? starts[0] ?? Math.min(end, last);
	}
}

/** A line as the SDK's JSON means it, or as it stands. */
function entryOf({ text, position }: LogLine): LogEntry {
	const { requestId, message, level } = told(text);
	if (typeof message !== "string") return { text, position };
	return {
		text: message,
		position,
		...(typeof requestId === "string" && { job: requestId }),
		...(typeof level === "string" && { level }),
	};
}

function told(text: string): { requestId?: unknown; message?: unknown; level?: unknown } {
	if (!text.startsWith('{"')) return {};
	try {
		return JSON.parse(text) as object;
	} catch {
		return {};
	}
}
