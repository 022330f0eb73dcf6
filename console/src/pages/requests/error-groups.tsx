/** The causes of the newest failures, each with its number, its last time and a retry of its jobs. */
import { type ReactNode, useState } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { type ErrorGroup, groupsOf } from "../../values/error-groups.ts";
import { useOverview } from "../../client/feed.ts";
import { number } from "../../text/format.ts";
import { type JobFilter, paramsOf } from "../../values/jobs/job-filter.ts";
import { useLoad } from "../../client/load.ts";
import { Button } from "../../parts/button.tsx";
import { Ago } from "../../parts/time.tsx";
import { useMay } from "../../client/session.ts";
import type { JobList, JobSummary } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { ChangeJobs } from "./change-jobs.tsx";

/** Failures that are read, in pages of the service's largest size. */
const [MOST_READ, PAGE_ROWS] = [500, 100];
const PACE_MS = 15_000;
/** Groups that are shown before one asks for all. */
const SHOWN = 5;

export function ErrorGroups({
	id,
	filter,
	show,
}: {
	id: string;
	filter: JobFilter;
	/** The address of the list of one group. */
	show: (group: ErrorGroup) => string;
}): ReactNode {
	const overview = useOverview(id);
	const write = useMay("write");
	const [all, setAll] = useState(false);
	const [retrying, setRetrying] = useState<ErrorGroup | undefined>(undefined);
	const pathOf = (cursor: string | undefined): string =>
		ofEndpoint(id, `/jobs${search({ ...paramsOf(filter), limit: PAGE_ROWS, cursor })}`);
	const { data, reload } = useLoad(
		pathOf(undefined),
		async (signal) => {
			const jobs: JobSummary[] = [];
			let next: string | null | undefined;
			// One answer of a search may be empty; its number is bounded too.
			for (let answers = 0; next !== null && answers < MOST_READ / PAGE_ROWS; answers += 1) {
				const page: JobList = await ask<JobList>(pathOf(next), { signal });
				jobs.push(...page.jobs);
				next = page.next;
			}
			return { groups: groupsOf(jobs), read: jobs.length, more: next !== null };
		},
		{ change: JSON.stringify(overview?.queue), pace: () => PACE_MS, keep: true },
	);
	if (!data || data.groups.length === 0) return null;
	const shown = all ? data.groups : data.groups.slice(0, SHOWN);
	return (
		<section className="card error-groups">
			<h2>
				{T.errors.title} {data.more ? <span className="muted">{T.errors.newest(number(data.read))}</span> : null}
			</h2>
			<ul>
				{shown.map((group) => (
					<li key={group.message}>
						<a className="line" href={show(group)} title={group.message}>
							{group.message}
						</a>
						<span className="group-count">{number(group.jobs.length)}</span>
						<span className="muted group-last">
							{T.errors.last} <Ago at={group.lastAt} />
						</span>
						{write ? (
							<Button
								look="quiet"
								icon="retry"
								label={T.errors.retryOf(number(group.jobs.length), group.message)}
								onPress={() => setRetrying(group)}
							>
								{T.errors.retry(number(group.jobs.length))}
							</Button>
						) : null}
					</li>
				))}
			</ul>
			{shown.length < data.groups.length ? (
				<Button look="quiet" onPress={() => setAll(true)}>
					{T.errors.more(data.groups.length - shown.length)}
				</Button>
			) : null}
			{retrying ? (
				<ChangeJobs endpoint={id} act="retry" jobs={retrying.jobs} close={() => setRetrying(undefined)} done={reload} />
			) : null}
		</section>
	);
}
