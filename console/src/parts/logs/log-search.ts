/** Lines of several logs on one page: of the service, and of the workers of endpoints. */
import { MINUTE_MS } from "../../values/ranges.ts";
import { RANGES, iso } from "../../values/jobs/job-filter.ts";
import type { ShownLine } from "./log-lines.tsx";

export const LEVELS = ["debug", "info", "warn", "error"] as const;

export interface LogFilter {
	lines: "all" | "workers" | "service";
	endpoint?: string | undefined;
	worker?: string | undefined;
	/** Of a job or of a request. */
	id?: string | undefined;
	level?: string | undefined;
	search?: string | undefined;
	/** ISO 8601. */
	since?: string | undefined;
	until?: string | undefined;
}

/** The workers of an endpoint; undefined: the service. */
export type Source = string | undefined;

export interface PageLine extends ShownLine {
	time: string;
	source: Source;
}

/** Lines of one log, the newest first. */
export interface Part {
	source: Source;
	lines: readonly PageLine[];
	/** Where older lines are read. */
	next?: string | undefined;
}

/** Lines of one log that a page keeps. */
const KEPT = 5000;

/** The filter in an address; a range begins before `now`, ms since the epoch. */
export function logFilterOf(query: URLSearchParams, now: number): LogFilter {
	const value = (name: string): string | undefined => query.get(name) || undefined;
	const lines = value("lines");
	const range = RANGES.find(({ id }) => id === query.get("range"));
	return {
		lines: lines === "workers" || lines === "service" ? lines : "all",
		endpoint: value("endpoint"),
		worker: value("worker"),
		id: value("id"),
		level: LEVELS.find((level) => level === query.get("level")),
		search: value("search"),
		since: range ? new Date(now - range.ms).toISOString() : iso(value("from")),
		until: range ? undefined : iso(value("to")),
	};
}

/** Workers have no request ids: of a job they have all lines, the service those with the id. */
export function sourcesOf({ lines, endpoint, worker }: LogFilter, endpoints: readonly string[]): readonly Source[] {
	const workers = lines === "service" ? [] : endpoint === undefined ? endpoints : [endpoint];
	return lines === "workers" || worker !== undefined ? workers : [undefined, ...workers];
}

export const lineId = ({ source, worker, position, time }: PageLine): string =>
	`${source ?? ""} ${worker ?? ""} ${position} ${time}`;

/** A part with the newest lines read again; only these where lines between them may be missing. */
export function withNewest(known: Part | undefined, newest: Part): Part {
	if (!known) return newest;
	const ids = new Set(known.lines.map(lineId));
	const added = newest.lines.filter((line) => !ids.has(lineId(line)));
	const joins = added.length < newest.lines.length || newest.next === undefined;
	if (!joins || added.length + known.lines.length > KEPT) return newest;
	return { ...known, lines: [...added, ...known.lines] };
}

export function withOlder(known: Part, older: Part): Part {
	return { ...older, lines: [...known.lines, ...older.lines] };
}

/** The parts that end the latest: what is older in the others is shown once these are read on. */
export function shortest(parts: readonly Part[]): readonly Part[] {
	const open = parts.filter(({ next }) => next !== undefined);
	const cut = cutOf(open);
	return open.filter(({ lines }) => lines.length === 0 || lines.at(-1)!.time >= cut);
}

const cutOf = (open: readonly Part[]): string =>
	open.map(({ lines }) => lines.at(-1)?.time ?? "").reduce((a, b) => (a > b ? a : b), "");

/** All lines by their time, the oldest first, without those that others may come before. */
export function linesOf(parts: readonly Part[]): readonly PageLine[] {
	const cut = cutOf(parts.filter(({ next }) => next !== undefined));
	const lines = parts.flatMap((part) => part.lines.filter(({ time }) => time >= cut).toReversed());
	return lines.toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

/** Between two reads while the page is live: ten logs each 2 s, more of them less often; ms. */
export const paceOf = (sources: number): number => Math.min(MINUTE_MS, 2000 * Math.ceil(sources / 10));
