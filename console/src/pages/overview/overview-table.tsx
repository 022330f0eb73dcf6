/** The endpoints: state, queue and workers now, and what happened in the chosen time. */
import type { ReactNode } from "react";
import { count, duration, number, percent } from "../../text/format.ts";
import { Spark } from "../../parts/charts/spark.tsx";
import { Badge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { to } from "../../client/router.ts";
import type { Overview, WorkerCounts } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { endedOf, type EndpointRow, failedOf, fails, ratioOf } from "../../values/totals.ts";
import { Health } from "./attention.tsx";

const COLUMNS: readonly Column<EndpointRow>[] = [
	{ name: T.overview.endpoint, main: true, cell: ({ overview }) => <Name endpoint={overview} /> },
	{
		name: T.overview.queue,
		end: true,
		cell: ({ overview: { queue } }) => <Figure value={queue.inQueue} loud={queue.inQueue > 0} />,
	},
	{
		name: T.overview.running,
		end: true,
		cell: ({ overview: { queue } }) => <Figure value={queue.inProgress} />,
	},
	{
		name: T.overview.workers,
		end: true,
		cell: ({ overview: { workers } }) => <Workers workers={workers} />,
	},
	{
		name: T.overview.ended,
		end: true,
		cell: ({ totals }) => (totals ? <Figure value={endedOf(totals)} /> : null),
	},
	{
		name: T.overview.errors,
		end: true,
		cell: ({ totals }) => {
			if (!totals || endedOf(totals) === 0) return null;
			const look = fails(totals) ? "figure bad" : failedOf(totals) > 0 ? "figure" : "figure zero";
			return <span className={look}>{percent(ratioOf(totals))}</span>;
		},
	},
	{ name: T.overview.delay, end: true, cell: ({ totals }) => spanOf(totals?.delayMs.p95) },
	{ name: T.overview.execution, end: true, cell: ({ totals }) => spanOf(totals?.executionMs.p95) },
	{
		name: T.overview.spark,
		cell: ({ overview: { spark } }) => (
			<Spark
				values={spark}
				label={T.overview.sparkLabel(
					number(spark.reduce((sum, value) => sum + value, 0)),
					number(Math.max(0, ...spark)),
				)}
			/>
		),
	},
];

export function EndpointTable({ rows }: { rows: readonly EndpointRow[] }): ReactNode {
	return (
		<section className="card flush endpoint-table">
			<Table
				label={T.pages.endpoints}
				columns={COLUMNS}
				rows={rows}
				id={({ overview }) => overview.id}
				leads={({ overview }) => to(["endpoints", overview.id])}
			/>
		</section>
	);
}

function spanOf(ms: number | null | undefined): ReactNode {
	return ms === null || ms === undefined ? null : <span className="figure">{duration(ms)}</span>;
}

function Name({ endpoint: { id, name, paused, workers, health } }: { endpoint: Overview }): ReactNode {
	const { state } = health;
	return (
		<span className="name-cell">
			<a href={to(["endpoints", id])}>{name}</a>
			{name === id ? null : <code className="muted">{id}</code>}
			<Health state={state} />
			{paused && state !== "paused" ? <Badge tone="late">{T.paused}</Badge> : null}
			{workers.unhealthy > 0 ? <Badge tone="bad">{T.overview.unhealthy(workers.unhealthy)}</Badge> : null}
			{workers.throttled > 0 ? <Badge tone="late">{T.overview.throttled}</Badge> : null}
		</span>
	);
}

function Figure({ value, loud = false }: { value: number; loud?: boolean }): ReactNode {
	return <span className={loud ? "figure loud" : value === 0 ? "figure zero" : "figure"}>{count(value)}</span>;
}

function Workers({ workers }: { workers: WorkerCounts }): ReactNode {
	const parts = [
		workers.running > 0 ? T.overview.busy(workers.running) : "",
		workers.idle > 0 ? T.overview.idle(workers.idle) : "",
		workers.initializing > 0 ? T.overview.starting(workers.initializing) : "",
	].filter(Boolean);
	return (
		<span className={parts.length === 0 ? "figure zero" : "figure"}>{parts.length === 0 ? "0" : parts.join(", ")}</span>
	);
}
