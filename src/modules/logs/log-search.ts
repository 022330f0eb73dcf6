/**
 * Lines in all kept logs of an endpoint's launched workers, running or ended (D47): the newest first, in pages. Logs
 * are read backwards, each time the one whose unread lines may be the newest, so a page needs no more than its end.
 */
import { badQuery } from "../../kernel/core/errors.ts";
import type { WorkerLogs } from "../../kernel/launchers/launcher.ts";
import { isWorkerOf } from "../../kernel/engine/workers/launch/worker-spec.ts";
import { entryOf, type LogEntry } from "../../kernel/engine/workers/logs/worker-logs.ts";
import { type LineFilter, lineFilter } from "./line-filter.ts";
import { SEARCHED_LOG_BYTES } from "./routes.ts";

const LINE_CHARACTERS = 2000;

/** Read of one log before the others are considered again. */
const CHUNK_BYTES = 2 ** 20;
/** Less than one read of a log, with a very long line before it. */
const STEP_BYTES = 48 * 1024;

/** Above all positions. */
const MOST = Number.MAX_SAFE_INTEGER;

/** The time of a line is noted after the last change of its file, by less than this. */
const NOTED_MS = 1000;

export interface FoundLine extends LogEntry {
	worker: string;
	/** In a log without times that of its last change. */
	time: string;
}

export interface LogSearch extends LineFilter {
	endpoint: string;
	worker?: string | undefined;
	job?: string | undefined;
	limit: number;
	/** `next` of the page before. */
	cursor?: string | undefined;
	left: AbortSignal;
}

export interface FoundLines {
	lines: readonly FoundLine[];
	/** There are others, or logs that were not read yet. */
	next?: string | undefined;
}

/** Lines have one order on all servers: by time, worker, position. */
type Place = Pick<FoundLine, "time" | "worker" | "position">;

interface Unread {
	worker: string;
	/** Ms since the epoch. */
	changed: number;
	/** No unread line is newer, ISO 8601. */
	newest: string;
	/** Where unread bytes begin and end; `first` is undefined before the first read. */
	first?: number;
	last: number;
}

/** Throws `bad_query` for a cursor that no page had. */
export async function searchLogs(logs: WorkerLogs, q: LogSearch): Promise<FoundLines> {
	const before = q.cursor === undefined ? undefined : placeIn(q.cursor);
	/** Lines of the cursor's time are read already in workers after that of the cursor. */
	const untilOf = (worker: string): number =>
		Math.min(q.until ?? Infinity, before ? Date.parse(before.time) - Number(worker > before.worker) : Infinity);
	const unread = (await logs.list())
		.filter(({ workerId }) => isWorkerOf(q.endpoint, workerId) && (q.worker ?? workerId) === workerId)
		.filter(({ changed }) => changed + NOTED_MS >= (q.since ?? 0))
		.map(({ workerId: worker, changed }): Unread => {
			const newest = iso(Math.min(changed + NOTED_MS, untilOf(worker)));
			return { worker, changed, newest, last: (worker === before?.worker ? before.position : MOST) - 1 };
		});
	const passes = lineFilter(q);
	const fits = (line: FoundLine): boolean =>
		(q.job === undefined || q.job === line.job) && (!before || isOlder(line, before)) && passes(line);
	const found: FoundLine[] = [];
	for (let bytes = 0; ; ) {
		unread.sort((a, b) => compare(endOf(b), endOf(a)));
		const log = unread[0];
		const isFull = (): boolean => found.filter((line) => !log || !isOlder(line, endOf(log))).length > q.limit;
		if (!log || bytes >= SEARCHED_LOG_BYTES || q.left.aborted || isFull())
			return pageOf([{ lines: found, next: log && textOf(endOf(log)) }], q.limit);
		if (log.first === undefined) {
			const extent = await logs.extent(log.worker, { since: q.since, until: untilOf(log.worker) });
			log.first = extent?.first ?? 0;
			log.last = Math.min(log.last, extent?.last ?? 0);
		}
		const end = log.last;
		for (let hits = 0; log.last > log.first && end - log.last < CHUNK_BYTES && hits <= q.limit && !q.left.aborted; ) {
			const lines = (await readBack(logs, log)).filter(fits);
			hits += lines.length;
			found.push(...lines.map((line) => ({ ...line, text: line.text.slice(0, LINE_CHARACTERS) })));
		}
		bytes += end - log.last;
		if (log.last <= log.first) unread.shift();
	}
}

/** The lines before `last`, which is then where the first of them begins. */
async function readBack(logs: WorkerLogs, log: Unread): Promise<FoundLine[]> {
	const { worker, first = 0, last } = log;
	const from = Math.max(first, last - STEP_BYTES);
	const part = await logs.read({ workerId: worker, from, whole: true });
	const lines: FoundLine[] = [];
	let start = from;
	for (const line of part?.lines ?? []) {
		const isCut = start === from && from > first;
		if (!isCut && start < last) {
			const entry = entryOf(line);
			lines.push({ ...entry, time: entry.time ?? iso(log.changed), worker });
		}
		start = line.position;
	}
	const begin = part?.lines[0]?.position ?? first;
	// A rotation may have removed what was to be read.
	log.last = from > first && begin < last ? begin : first;
	const oldest = lines[0]?.time;
	if (oldest !== undefined && oldest < log.newest) log.newest = oldest;
	return lines;
}

/** One page of those of several servers: only lines that are newer than all that each has not read. */
export function pageOf(parts: readonly FoundLines[], limit: number): FoundLines {
	const unread = parts
		.flatMap(({ next }) => (next === undefined ? [] : [placeIn(next)]))
		.toSorted((a, b) => compare(b, a))[0];
	const lines = parts
		.flatMap((part) => part.lines)
		.filter((line) => !unread || !isOlder(line, unread))
		.toSorted((a, b) => compare(b, a));
	const page = lines.slice(0, limit);
	const rest = lines.length > limit ? page.at(-1) : unread;
	return { lines: page, ...(rest && { next: textOf(rest) }) };
}

/** Unread lines come after it: the position of a line is where the next one begins. */
const endOf = ({ newest, worker, last }: Unread): Place => ({ time: newest, worker, position: last + 1 });

function compare(a: Place, b: Place): number {
	if (a.time !== b.time) return a.time < b.time ? -1 : 1;
	if (a.worker !== b.worker) return a.worker < b.worker ? -1 : 1;
	return a.position - b.position;
}

const isOlder = (line: Place, than: Place): boolean => compare(line, than) < 0;

const iso = (ms: number): string => new Date(ms).toISOString();

const textOf = ({ time, worker, position }: Place): string => `${time}_${position}_${worker}`;

function placeIn(cursor: string): Place {
	const [, time = "", position, worker = ""] = /^([\d:.TZ-]{24})_(\d{1,16})_(.+)$/.exec(cursor) ?? [];
	if (Number.isNaN(Date.parse(time))) throw badQuery("cursor", cursor, "`next` of the page before");
	return { time, worker, position: Number(position) };
}
