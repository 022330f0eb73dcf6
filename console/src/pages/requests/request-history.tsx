/** The time of the list of jobs: how many ended when, with a part to be selected. */
import type { ReactNode } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { now } from "../../client/clock.ts";
import { useFeed } from "../../client/feed.ts";
import type { JobFilter } from "../../values/jobs/job-filter.ts";
import { useLoad } from "../../client/load.ts";
import { JobHistogram } from "../../parts/charts/job-histogram.tsx";
import { HOUR_MS, MINUTE_MS, spanText, stepOf } from "../../values/ranges.ts";
import type { JobState, Metrics } from "../../client/shapes.ts";

/** The counter of each state in which a job ends. */
const OUTCOME_OF = { COMPLETED: "completed", FAILED: "failed", TIMED_OUT: "timedOut", CANCELLED: "cancelled" } as const;

/** Ms between two reads. */
const PACE_MS = 15_000;
const USUAL_MS = 24 * HOUR_MS;
/** The service keeps a history of so long. */
const KEPT_MS = 30 * 24 * HOUR_MS;

export function RequestHistory({
	id,
	filter,
	select,
}: {
	id: string;
	filter: JobFilter;
	select: (from: string, to: string) => void;
}): ReactNode {
	const { at } = useFeed();
	const load = (signal: AbortSignal): Promise<Metrics> => {
		const end = filter.to === undefined ? now() : Math.min(now(), new Date(filter.to).getTime());
		const from = Math.max(
			filter.from === undefined ? end - USUAL_MS : new Date(filter.from).getTime(),
			now() - KEPT_MS,
		);
		const step = stepOf(from, end, now());
		// A time of no length is refused.
		const times = { from: new Date(Math.min(from, end - step)).toISOString(), to: new Date(end).toISOString() };
		return ask<Metrics>(ofEndpoint(id, `/metrics${search({ ...times, step })}`), { signal });
	};
	const { data } = useLoad(`${id} ${filter.from} ${filter.to}`, load, {
		change: filter.to === undefined ? at : undefined,
		keep: true,
		pace: () => PACE_MS,
	});
	if (!data || !hasEnded(data, filter.status)) return null;
	return (
		<JobHistogram
			metrics={data}
			states={filter.status}
			last={
				filter.to === undefined
					? spanText(filter.from === undefined ? USUAL_MS : now() - new Date(filter.from).getTime(), MINUTE_MS)
					: undefined
			}
			select={(from, to) => select(new Date(from).toISOString(), new Date(Math.min(to, now())).toISOString())}
		/>
	);
}

/** Whether a job ended in one of these states; without states, in any. */
function hasEnded({ series }: Metrics, states: readonly JobState[]): boolean {
	return Object.entries(OUTCOME_OF).some(
		([state, name]) =>
			(states.length === 0 || states.includes(state as JobState)) && series[name].some((count) => (count ?? 0) > 0),
	);
}
