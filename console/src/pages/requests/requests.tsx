/**
 * Jobs of an endpoint: live, filtered by what stands in the address, page by page by cursor, and
 * acted on together.
 */
import { type ReactNode, useEffect, useState } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { now, useNow } from "../../client/clock.ts";
import { useOverview } from "../../client/feed.ts";
import { number } from "../../text/format.ts";
import { useCounts } from "../../values/jobs/job-counts.ts";
import { filterOf, type JobFilter, paramsOf } from "../../values/jobs/job-filter.ts";
import { keepOrder } from "../../values/jobs/job-order.ts";
import { useLoad } from "../../client/load.ts";
import { recall } from "../../client/memory.ts";
import { Empty, Loading, Refusal } from "../../parts/notice.tsx";
import { Pages } from "../../parts/table.tsx";
import { At } from "../../parts/time.tsx";
import { go, to, usePlace } from "../../client/router.ts";
import type { JobList, JobState, JobSummary } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { useKeys } from "../../client/use-keys.ts";
import { type BulkAct, BulkDialog } from "./bulk.tsx";
import { ErrorGroups } from "./error-groups.tsx";
import { BulkButtons, Columns, SelectionBar } from "./request-bar.tsx";
import { Filters, StateTabs, addressOf } from "./request-filters.tsx";
import { RequestHistory } from "./request-history.tsx";
import { type ColumnName, COLUMNS, RequestTable, USUAL_COLUMNS } from "./request-table.tsx";

const PAGE_ROWS = 50;
const FAILURES: readonly JobState[] = ["FAILED", "TIMED_OUT"];

/**
 * One answer reads 20,000 jobs at most, of a search 5,000: where a filter fits few, so many answers
 * are asked for a page of them, and that less often.
 */
const MOST_ANSWERS = 100;
const MOST_SEARCH_ANSWERS = 20;
const [PACE_MS, SPARSE_PACE_MS] = [2000, 15_000];

interface LoadedPage extends Pick<JobList, "next" | "searchedTo"> {
	jobs: readonly JobSummary[];
	answers: number;
}

export function RequestsPage({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	// A range that ends now moves on each minute.
	useNow(60_000);
	const filter = filterOf(query, now());
	const cursor = query.get("cursor") ?? undefined;
	const [acting, setActing] = useState<BulkAct | undefined>(undefined);
	const [shown, setShown] = useState(chosenColumns);
	const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
	const { data, failure, loading, reload } = useJobs(id, filter, cursor);
	const counts = useCounts(id, filter);
	const chosen = data?.jobs.filter((job) => selected.has(job.id)) ?? [];
	const clear = (): void => setSelected(new Set());
	const failures = filter.status.length > 0 && filter.status.every((state) => FAILURES.includes(state));
	useRowKeys();
	useEffect(() => {
		if (data)
			keepOrder(
				id,
				location.hash,
				data.jobs.map((job) => job.id),
			);
	}, [id, data]);
	return (
		<>
			<StateTabs id={id} filter={filter} counts={counts} />
			<Filters id={id} filter={filter}>
				<BulkButtons filter={filter} counts={counts} act={setActing} />
				<Columns shown={shown} choose={setShown} />
			</Filters>
			<RequestHistory
				id={id}
				filter={filter}
				select={(from, to) => go(addressOf(id, query, { from, to, range: undefined }))}
			/>
			{failures ? (
				<ErrorGroups id={id} filter={filter} show={({ common }) => addressOf(id, query, { search: common })} />
			) : null}
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : (
				<>
					{chosen.length > 0 ? <SelectionBar endpoint={id} jobs={chosen} clear={clear} reload={reload} /> : null}
					{data.jobs.length === 0 ? (
						<NoJobs id={id} filtered={query.size > 0} />
					) : (
						<section className="card flush" aria-busy={loading}>
							<RequestTable endpoint={id} jobs={data.jobs} shown={shown} selected={selected} select={setSelected} />
						</section>
					)}
					<PageBar
						page={data}
						searched={filter.search !== undefined}
						cursor={cursor}
						show={(at) => go(addressOf(id, query, { cursor: at }))}
					/>
				</>
			)}
			{acting ? (
				<BulkDialog
					endpoint={id}
					act={acting}
					filter={filter}
					close={() => {
						setActing(undefined);
						reload();
					}}
				/>
			) : null}
		</>
	);
}

/** How far a search has read, and the ways to other pages. */
function PageBar({
	page: { jobs, next, searchedTo },
	searched,
	cursor,
	show,
}: {
	page: LoadedPage;
	searched: boolean;
	cursor: string | undefined;
	show: (cursor: string | undefined) => void;
}): ReactNode {
	return (
		<div className="bar">
			<p className="muted" role="status">
				{searched && cursor === undefined
					? (next === null ? T.requests.matching : T.requests.found)(number(jobs.length))
					: null}{" "}
				{searchedTo === undefined ? null : (
					<>
						{T.requests.searchedTo} <At at={searchedTo} />
					</>
				)}
			</p>
			<Pages
				cursor={cursor}
				next={next}
				show={show}
				older={searchedTo === undefined ? T.requests.older : T.requests.searchOlder}
			/>
		</div>
	);
}

/** `j` and `k` lead into the table; there it moves the focus. */
function useRowKeys(): void {
	useKeys((key) => {
		if (key === "j" || key === "k") document.querySelector<HTMLElement>("main tbody a[href]")?.focus();
	});
}

/** A page of the list; the first one follows the counts in the feed, older ones are static. */
function useJobs(id: string, filter: JobFilter, cursor: string | undefined) {
	const overview = useOverview(id);
	const pathOf = (limit: number, from: string | undefined): string =>
		ofEndpoint(id, `/jobs${search({ ...paramsOf(filter), expired: "true", preview: "true", limit, cursor: from })}`);
	const load = async (signal: AbortSignal): Promise<LoadedPage> => {
		const jobs: JobSummary[] = [];
		const most = filter.search ? MOST_SEARCH_ANSWERS : MOST_ANSWERS;
		let last: Pick<JobList, "next" | "searchedTo"> = { next: cursor ?? null };
		let answers = 0;
		do {
			const { jobs: found, ...rest } = await ask<JobList>(pathOf(PAGE_ROWS - jobs.length, last.next ?? undefined), {
				signal,
			});
			jobs.push(...found);
			last = rest;
			answers += 1;
		} while (answers < most && jobs.length < PAGE_ROWS && last.next !== null);
		return { jobs, ...last, answers };
	};
	return useLoad(pathOf(PAGE_ROWS, cursor), load, {
		change: cursor === undefined && overview ? JSON.stringify(overview.queue) : undefined,
		keep: true,
		pace: (last) => (last && last.answers > 2 ? SPARSE_PACE_MS : PACE_MS),
	});
}

function chosenColumns(): readonly ColumnName[] {
	const kept = recall("columns");
	return Array.isArray(kept) ? COLUMNS.filter((name) => kept.includes(name)) : USUAL_COLUMNS;
}

function NoJobs({ id, filtered }: { id: string; filtered: boolean }): ReactNode {
	if (filtered)
		return (
			<Empty title={T.requests.noMatch}>
				<a href={to(["endpoints", id, "requests"])}>{T.requests.clear}</a>
			</Empty>
		);
	return (
		<Empty title={T.requests.none}>
			<a href={to(["endpoints", id, "try"])}>{T.requests.sendOne}</a> {T.or}{" "}
			<a href={to(["endpoints", id, "connect"])}>{T.requests.connect}</a>
		</Empty>
	);
}
