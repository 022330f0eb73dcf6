/** Log lines of a launched worker: the last ones, then new ones, optionally of one job (protocol B.9). */
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/errors.ts";
import { sdkLine } from "../../core/workers/log-line.ts";
import type { LogLine, WorkerLogs } from "../../launchers/launcher.ts";
import { isWorkerOf } from "./worker-spec.ts";
import type { WorkerRegistry } from "./worker-registry.ts";

/** Time between two reads for new lines, ms. */
const POLL_MS = 250;

/** Interval at which an empty list is sent while there are no new lines, ms, so that the connection is kept. */
const KEEP_ALIVE_MS = 15_000;

/** How much of the end is read for the last lines, bytes; four times as much if that is too little. */
const TAIL_BYTES = 64 * 1024;

/** Read for the last lines of a worker that has ended, bytes. */
const OUTPUT_BYTES = 8 * 1024;

/** A line, or a piece of a very long one. `level` as the worker's SDK wrote it; `job` too, or the only one it held. */
export interface LogEntry {
	text: string;
	/** Where the next line begins. */
	position: number;
	/** When it was written, ISO 8601, where that is known. */
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
	/** Only lines of this job. */
	job?: string | undefined;
	/** Sends new lines until the worker has exited or `left`. */
	follow: boolean;
	left: AbortSignal;
	/** Runs the waits for new lines. */
	outside?: <T>(wait: Promise<T>) => Promise<T>;
}

/** Reads only as fast as the caller iterates. Throws `worker_not_found`. */
export function logReader(d: {
	clock: Clock;
	logs: WorkerLogs;
	registry: WorkerRegistry;
}): (q: LogQuery) => Promise<AsyncIterable<LogEntry[]>> {
	return async (q) => {
		const extent = isWorkerOf(q.endpoint, q.worker) ? await d.logs.extent(q.worker) : undefined;
		// A worker that is being started has written nothing yet.
		if (!extent && !isRunning(d.registry, q))
			throw new ApiError("worker_not_found", { worker: q.worker, endpoint: q.endpoint });
		return entries(d, q, q.from ?? (extent ? await tailFrom(d.logs, q, extent) : 0));
	};
}

function isRunning(registry: WorkerRegistry, { endpoint, worker }: LogQuery): boolean {
	return registry.get({ endpoint, id: worker })?.managed === true;
}

async function* entries(
	d: { clock: Clock; logs: WorkerLogs; registry: WorkerRegistry },
	q: LogQuery,
	from: number,
): AsyncGenerator<LogEntry[]> {
	const { outside = (wait) => wait } = q;
	let quietMs = 0;
	for (let at = from; !q.left.aborted; ) {
		// Checked before reading, so that the last lines of an ending worker are read.
		const continues = q.follow && isRunning(d.registry, q);
		const part = (await d.logs.read({ workerId: q.worker, from: at, whole: !continues })) ?? {
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
		if (!continues) return;
		await outside(d.clock.sleep(POLL_MS, q.left));
		quietMs += POLL_MS;
	}
}

/** The last lines that a worker wrote; empty if nothing is kept. */
export async function lastOutput(logs: WorkerLogs, workerId: string): Promise<string> {
	const extent = await logs.extent(workerId);
	if (!extent) return "";
	const from = Math.max(extent.first, extent.last - OUTPUT_BYTES);
	const lines = (await logs.read({ workerId, from, whole: true }))?.lines ?? [];
	// The first line may be the end of a longer one.
	return lines
		.slice(from > extent.first ? 1 : 0)
		.map(({ text }) => text)
		.join("\n");
}

/** Where the last `tail` matching lines begin. */
export async function tailFrom(
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
				// The first line may be the end of a longer one.
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

/** What the SDK says of its line goes before what the worker held at that time. */
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
