/** Which jobs are meant: the filter as the address holds it, and as the service reads it. */
import type { JobState } from "../../../../src/kernel/core/jobs/job-states.ts";
import { HOUR_MS, MINUTE_MS } from "../ranges.ts";

/** In the order in which they are offered. */
export const STATES: readonly JobState[] = ["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED"];

/** Ranges that end now. */
export const RANGES = [
	{ id: "15m", ms: 15 * MINUTE_MS },
	{ id: "1h", ms: HOUR_MS },
	{ id: "24h", ms: 24 * HOUR_MS },
] as const;

/** No states: all. `from` and `to` as ISO 8601, or without a zone in the time zone of the browser. */
export interface JobFilter {
	status: readonly JobState[];
	worker?: string;
	from?: string;
	to?: string;
	/** Text in the id, the worker, the error or the input. */
	search?: string;
}

/** The filter in a query; what is none is left out. A range begins before `now`, ms since the epoch. */
export function filterOf(query: URLSearchParams, now: number): JobFilter {
	const named = (query.get("status") ?? "").split(",");
	const [worker, fixed, to, text] = ["worker", "from", "to", "search"].map((name) => query.get(name));
	const range = RANGES.find(({ id }) => id === query.get("range"));
	// To the minute, so that the list is not another one with each second.
	const from = range ? new Date(Math.floor((now - range.ms) / MINUTE_MS) * MINUTE_MS).toISOString() : fixed;
	return {
		status: STATES.filter((state) => named.includes(state)),
		...(worker ? { worker } : {}),
		...(from ? { from } : {}),
		...(to ? { to } : {}),
		...(text ? { search: text } : {}),
	};
}

/** A moment of such a field as the service reads it. */
export function iso(local: string | undefined): string | undefined {
	const at = local === undefined ? NaN : new Date(local).getTime();
	return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

/** The filter for the service's lists. */
export function paramsOf({ status, worker, from, to, search }: JobFilter): Record<string, string | undefined> {
	return { status: status.join(","), worker, from: iso(from), to: iso(to), search };
}

/** Whether it leaves anything out. */
export function isFiltered({ status, worker, from, to, search }: JobFilter): boolean {
	return status.length > 0 || [worker, from, to, search].some((each) => each !== undefined);
}
