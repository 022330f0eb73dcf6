/** Which jobs are meant: the filter as the address holds it, and as the service reads it. */
import type { JobState } from "../../src/core/job-states.ts";

/** In the order in which they are offered. */
export const STATES: readonly JobState[] = ["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED"];

/** No states: all. `from` and `to` as a field of the browser gives them, in its time zone. */
export interface JobFilter {
	status: readonly JobState[];
	worker?: string;
	from?: string;
	to?: string;
	/** Text in the id, the worker, the error or the input. */
	search?: string;
}

/** The filter in a query; what is none is left out. */
export function filterOf(query: URLSearchParams): JobFilter {
	const named = (query.get("status") ?? "").split(",");
	const [worker, from, to, text] = ["worker", "from", "to", "search"].map((name) => query.get(name));
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
