/** How many jobs of each state match a filter. */
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { useOverview } from "../../client/feed.ts";
import { number } from "../../text/format.ts";
import { type JobFilter, paramsOf, STATES } from "./job-filter.ts";
import { useLoad } from "../../client/load.ts";
import type { JobList, JobState } from "../../client/shapes.ts";

export interface StateCount {
	count: number;
	/** The service has counted a part: there are more. */
	more: boolean;
}
export type StateCounts = Readonly<Partial<Record<JobState, StateCount>>>;

/** Ms between two counts, each of which may read thousands of records. */
const PACE_MS = 15_000;

/** The counts without the states of the filter; none for a search, which would have to read all inputs. */
export function useCounts(id: string, filter: JobFilter): StateCounts {
	const { queue } = useOverview(id) ?? {};
	const { search: wanted, worker, from, to } = filter;
	const live = queue && !wanted && !worker && !from && !to ? queue : undefined;
	const counted = STATES.filter((state) => !live || (state !== "IN_QUEUE" && state !== "IN_PROGRESS"));
	const pathOf = (state: JobState): string =>
		ofEndpoint(
			id,
			`/jobs${search({ ...paramsOf({ ...filter, status: [state] }), expired: "true", limit: 1, count: "true" })}`,
		);
	const { data = {} } = useLoad<StateCounts>(
		counted.map(pathOf).join(" "),
		async (signal) => {
			if (wanted) return {};
			const answers = await Promise.all(counted.map((state) => ask<JobList>(pathOf(state), { signal })));
			return Object.fromEntries(counted.map((state, index) => [state, answers[index]!.matching]));
		},
		{ change: JSON.stringify(queue), pace: () => PACE_MS, keep: true },
	);
	if (wanted) return {};
	if (!live) return data;
	return {
		...data,
		IN_QUEUE: { count: live.inQueue, more: false },
		IN_PROGRESS: { count: live.inProgress, more: false },
	};
}

/** The sum for these states; undefined until all of them are counted. */
export function sumOf(counts: StateCounts, states: readonly JobState[]): StateCount | undefined {
	const each = states.map((state) => counts[state]);
	if (each.some((one) => one === undefined)) return undefined;
	return {
		count: each.reduce((sum, one) => sum + one!.count, 0),
		more: each.some((one) => one!.more),
	};
}

export const countText = ({ count, more }: StateCount): string => number(count) + (more ? "+" : "");
