/** Sums over what the service counts, and from when on failures are many. */
import type { EndpointTotals, Overview, WorkerCounts } from "../client/shapes.ts";

/** An endpoint now, and over the chosen time as soon as that is known. */
export interface EndpointRow {
	overview: Overview;
	totals: EndpointTotals | undefined;
}

/** Share of failures from which on an endpoint needs attention, and the least number of jobs for it. */
const [BAD_RATIO, BAD_JOBS] = [0.05, 5];

type Outcomes = Pick<EndpointTotals, "completed" | "failed" | "timedOut">;

/** Jobs that a worker or a deadline ended; cancelled ones are no failure. */
export function endedOf({ completed, failed, timedOut }: Outcomes): number {
	return completed + failed + timedOut;
}

export function failedOf({ failed, timedOut }: Pick<Outcomes, "failed" | "timedOut">): number {
	return failed + timedOut;
}

export function ratioOf(totals: Outcomes): number {
	return endedOf(totals) === 0 ? 0 : failedOf(totals) / endedOf(totals);
}

/** Whether so many jobs failed that someone should look. */
export function fails(totals: Outcomes): boolean {
	return endedOf(totals) >= BAD_JOBS && ratioOf(totals) >= BAD_RATIO;
}

/** Workers that are there. */
export function present({ idle, running, initializing }: WorkerCounts): number {
	return idle + running + initializing;
}
