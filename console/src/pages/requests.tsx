/**
 * Jobs of an endpoint: live, filtered by what stands in the address, page by page by cursor, and
 * acted on together.
 */
import { useState } from "react";
import type { ReactNode } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { ask, ofEndpoint, search } from "../api.ts";
import { useOverview } from "../feed.ts";
import { duration, short } from "../format.ts";
import { STATES, filterOf, iso } from "../job-filter.ts";
import { jobIdOf } from "../job-id.ts";
import { useLoad } from "../load.ts";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/field.tsx";
import { Empty, Loading, Refusal } from "../parts/notice.tsx";
import { Status } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";
import type { Column } from "../parts/table.tsx";
import { Ago } from "../parts/time.tsx";
import { go, to, usePlace } from "../router.ts";
import { useMay } from "../session.tsx";
import type { JobState, JobSummary, Page } from "../shapes.ts";
import { T } from "../text.ts";
import { BulkDialog } from "./bulk.tsx";
import type { BulkAct } from "./bulk.tsx";

const PAGE_ROWS = 50;

/**
 * One answer looks at 20,000 jobs at most: where a filter fits few, so many answers are asked for a
 * page of them, and that less often.
 */
const MOST_ANSWERS = 100;
const [PACE_MS, SPARSE_PACE_MS] = [2000, 15_000];

export function RequestsPage({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const filter = filterOf(query);
	const cursor = query.get("cursor") ?? undefined;
	const overview = useOverview(id);
	const [acting, setActing] = useState<BulkAct | undefined>(undefined);
	const pathOf = (limit: number, from: string | undefined): string =>
		ofEndpoint(
			id,
			`/jobs${search({ status: filter.status.join(","), worker: filter.worker, from: iso(filter.from), to: iso(filter.to), id: query.get("job") ?? undefined, expired: "true", limit, cursor: from })}`,
		);
	const load = async (
		signal: AbortSignal,
	): Promise<Page<"jobs", JobSummary> & { answers: number }> => {
		const jobs: JobSummary[] = [];
		let next: string | null = cursor ?? null;
		let answers = 0;
		do {
			const page: Page<"jobs", JobSummary> = await ask(
				pathOf(PAGE_ROWS - jobs.length, next ?? undefined),
				{ signal },
			);
			jobs.push(...page.jobs);
			next = page.next;
			answers += 1;
		} while (answers < MOST_ANSWERS && jobs.length < PAGE_ROWS && next !== null);
		return { jobs, next, answers };
	};
	// Older pages are static; the first one follows the counts in the feed.
	const change = cursor === undefined && overview ? JSON.stringify(overview.queue) : undefined;
	const { data, failure, loading, reload } = useLoad(pathOf(PAGE_ROWS, cursor), load, {
		change,
		keep: true,
		pace: (last) => (last && last.answers > 2 ? SPARSE_PACE_MS : PACE_MS),
	});
	const filtered = query.size > 0;
	return (
		<>
			<Filters id={id} />
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data === undefined ? (
				failure ? null : (
					<Loading />
				)
			) : (
				<>
					{data.jobs.length === 0 ? (
						<NoJobs id={id} filtered={filtered} />
					) : (
						<section className="card flush" aria-busy={loading}>
							<Table
								label={T.tabs.requests}
								columns={columnsOf(id)}
								rows={data.jobs}
								id={(job) => job.id}
							/>
						</section>
					)}
					<div className="bar">
						{data.jobs.length === 0 || query.has("job") ? (
							<span />
						) : (
							<Bulk act={setActing} states={filter.status} />
						)}
						<div className="actions end">
							{cursor === undefined ? null : (
								<Button icon="left" onPress={() => go(addressOf(id, query, { cursor: undefined }))}>
									{T.requests.newest}
								</Button>
							)}
							{data.next === null ? null : (
								<Button
									icon="right"
									onPress={() => go(addressOf(id, query, { cursor: data.next! }))}
								>
									{T.requests.older}
								</Button>
							)}
						</div>
					</div>
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

function columnsOf(endpoint: string): Column<JobSummary>[] {
	return [
		{
			name: T.requests.job,
			main: true,
			cell: ({ id }) => (
				<a className="mono" href={to(["endpoints", endpoint, "requests", id])} title={id}>
					{short(id)}
				</a>
			),
		},
		{
			name: T.requests.state,
			cell: ({ status, retries }) => (
				<>
					<Status state={status} />
					{retries ? (
						<span className="muted" title={T.job.retries}>
							{" "}
							×{retries + 1}
						</span>
					) : null}
				</>
			),
		},
		{ name: T.requests.submitted, cell: ({ submittedAt }) => <Ago at={submittedAt} /> },
		{ name: T.requests.delay, end: true, cell: ({ delayTime }) => duration(delayTime) },
		{
			name: T.requests.execution,
			end: true,
			cell: ({ executionTime, startedAt }) =>
				startedAt === undefined ? <span className="muted">–</span> : duration(executionTime),
		},
		{
			name: T.requests.worker,
			cell: ({ workerId }) =>
				workerId === undefined ? (
					<span className="muted">–</span>
				) : (
					<a className="mono quiet" href={to(["endpoints", endpoint, "workers", workerId])}>
						{short(workerId)}
					</a>
				),
		},
	];
}

/** The address with another filter; a new filter begins at the newest. */
function addressOf(
	id: string,
	query: URLSearchParams,
	change: Readonly<Record<string, string | undefined>>,
): string {
	return to(["endpoints", id, "requests"], {
		...Object.fromEntries(query),
		cursor: undefined,
		...change,
	});
}

function Filters({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const { status } = filterOf(query);
	const [worker, setWorker] = useState(query.get("worker") ?? "");
	const [job, setJob] = useState(query.get("job") ?? "");
	const set = (change: Readonly<Record<string, string | undefined>>): void =>
		go(addressOf(id, query, change), true);
	const onSubmit = (): void => {
		const whole = jobIdOf(job);
		if (whole !== undefined) go(to(["endpoints", id, "requests", whole]));
		else set({ worker: worker.trim(), job: job.trim() });
	};
	return (
		<form
			className="filters"
			aria-label={T.requests.filter}
			onSubmit={(event) => {
				event.preventDefault();
				onSubmit();
			}}
		>
			<ToggleButtonGroup
				className="segments wrap"
				aria-label={T.requests.state}
				selectionMode="multiple"
				selectedKeys={status}
				onSelectionChange={(keys) =>
					set({ status: STATES.filter((state) => keys.has(state)).join(",") })
				}
			>
				{STATES.map((state) => (
					<ToggleButton key={state} id={state} className="segment">
						{T.states[state]}
					</ToggleButton>
				))}
			</ToggleButtonGroup>
			<div className="filter-fields">
				<TextField
					bare
					type="search"
					label={T.requests.id}
					placeholder={T.requests.id}
					value={job}
					onChange={setJob}
					mono
				/>
				<TextField
					bare
					type="search"
					label={T.requests.worker}
					placeholder={T.requests.worker}
					value={worker}
					onChange={setWorker}
					mono
				/>
				<label className="time-field">
					<span>{T.requests.from}</span>
					<input
						className="input"
						type="datetime-local"
						value={query.get("from") ?? ""}
						onChange={({ target }) => set({ from: target.value })}
					/>
				</label>
				<label className="time-field">
					<span>{T.requests.to}</span>
					<input
						className="input"
						type="datetime-local"
						value={query.get("to") ?? ""}
						onChange={({ target }) => set({ to: target.value })}
					/>
				</label>
				<Button>{T.requests.apply}</Button>
				{query.size > 0 ? (
					<Button
						look="quiet"
						onPress={() => {
							setWorker("");
							setJob("");
							go(to(["endpoints", id, "requests"]));
						}}
					>
						{T.requests.clear}
					</Button>
				) : null}
			</div>
		</form>
	);
}

/**
 * What may be done with all that match: cancelling where some may be running, retrying where some
 * may have failed.
 */
function Bulk({
	act,
	states,
}: {
	act: (act: BulkAct) => void;
	states: readonly JobState[];
}): ReactNode {
	const write = useMay("write");
	const may = (...wanted: JobState[]): boolean =>
		states.length === 0 || states.some((state) => wanted.includes(state));
	if (!write) return <span />;
	return (
		<div className="actions">
			{may("IN_QUEUE", "IN_PROGRESS") ? (
				<Button icon="stop" onPress={() => act("cancel")}>
					{T.bulk.cancel.open}
				</Button>
			) : null}
			{may("FAILED", "TIMED_OUT") ? (
				<Button icon="retry" onPress={() => act("retry")}>
					{T.bulk.retry.open}
				</Button>
			) : null}
		</div>
	);
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
