/** Jobs of a list as rows: what went in, how it went, and which are selected. */
import type { ReactNode } from "react";
import { duration, short } from "../../text/format.ts";
import { JobSubject } from "../../parts/job-subject.tsx";
import { Status } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Ago } from "../../parts/time.tsx";
import { to } from "../../client/router.ts";
import type { JobSummary } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";

/** What may be shown of a job, in this order. */
export const COLUMNS = ["input", "error", "state", "submitted", "ended", "delay", "execution", "worker"] as const;
export type ColumnName = (typeof COLUMNS)[number];

/** Shown unless chosen otherwise. */
export const USUAL_COLUMNS: readonly ColumnName[] = COLUMNS.filter((name) => name !== "ended" && name !== "worker");

export function RequestTable({
	endpoint,
	jobs,
	shown,
	selected,
	select,
}: {
	endpoint: string;
	jobs: readonly JobSummary[];
	shown: readonly ColumnName[];
	selected: ReadonlySet<string>;
	select: (ids: ReadonlySet<string>) => void;
}): ReactNode {
	const all = jobs.length > 0 && jobs.every(({ id }) => selected.has(id));
	const toggle = (id: string): void => {
		const next = new Set(selected);
		if (!next.delete(id)) next.add(id);
		select(next);
	};
	const place = (id: string): string => to(["endpoints", endpoint, "requests", id]);
	const columns: Column<JobSummary>[] = [
		{
			name: T.requests.select,
			area: "select",
			silent: true,
			head: (
				<input
					type="checkbox"
					aria-label={T.requests.selectAll}
					checked={all}
					onChange={() => select(all ? new Set() : new Set(jobs.map(({ id }) => id)))}
				/>
			),
			cell: ({ id }) => (
				<input
					type="checkbox"
					aria-label={T.requests.selectOne(short(id))}
					checked={selected.has(id)}
					onChange={() => toggle(id)}
				/>
			),
		},
		{
			name: T.requests.job,
			main: true,
			cell: (job) => (
				<JobSubject
					endpoint={endpoint}
					job={job}
					href={place(job.id)}
					input={shown.includes("input")}
					failure={shown.includes("error")}
				/>
			),
		},
		...CELLS.filter(({ id }) => shown.includes(id)).map(({ id, end, cell }) => ({
			name: T.requests[id],
			area: id,
			...(end ? { end } : {}),
			cell: (job: JobSummary) => cell(job, endpoint),
		})),
		{
			name: T.requests.id,
			area: "id",
			end: true,
			cell: ({ id }) => (
				<span className="mono muted" title={id}>
					{short(id)}
				</span>
			),
		},
	];
	return (
		<Table
			label={T.tabs.requests}
			look="two-lines"
			columns={columns}
			rows={jobs}
			id={({ id }) => id}
			leads={({ id }) => place(id)}
			isSelected={({ id }) => selected.has(id)}
		/>
	);
}

interface Cell {
	id: Exclude<ColumnName, "input" | "error">;
	end?: true;
	cell: (job: JobSummary, endpoint: string) => ReactNode;
}

const CELLS: readonly Cell[] = [
	{
		id: "state",
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
	{ id: "submitted", cell: ({ submittedAt }) => <Ago at={submittedAt} /> },
	{ id: "ended", cell: ({ endedAt }) => (endedAt === undefined ? null : <Ago at={endedAt} />) },
	{ id: "delay", end: true, cell: ({ delayTime }) => duration(delayTime) },
	{
		id: "execution",
		end: true,
		cell: ({ executionTime, startedAt }) =>
			startedAt === undefined ? null : (
				<>
					<span className="narrow-only">{T.requests.ran} </span>
					{duration(executionTime)}
				</>
			),
	},
	{
		id: "worker",
		cell: ({ workerId }, endpoint) =>
			workerId === undefined ? null : (
				<a className="mono quiet" href={to(["endpoints", endpoint, "workers", workerId])}>
					{short(workerId)}
				</a>
			),
	},
];
