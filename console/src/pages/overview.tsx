/**
 * All endpoints: what needs attention first, what happened in a chosen time, queue and workers now.
 */
import { type ReactNode, useState } from "react";
import { ask, search } from "../api.ts";
import { now, useNow } from "../clock.ts";
import { useFeed } from "../feed.ts";
import { count, duration, number, percent } from "../format.ts";
import { useLoad } from "../load.ts";
import { Button } from "../parts/button.tsx";
import { Loading, Refusal } from "../parts/notice.tsx";
import { SpanChoice } from "../parts/span-choice.tsx";
import { Spark } from "../parts/spark.tsx";
import { Badge } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { MINUTE_MS, spanOf, stepOf } from "../ranges.ts";
import { go, to, usePlace } from "../router.ts";
import { useMay } from "../session.tsx";
import type { EndpointTotals, Overview, Totals, WorkerCounts } from "../shapes.ts";
import { T } from "../text.ts";
import { Attention, endedOf, failedOf, Health, ratioOf, type Row, urgency } from "./attention.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { NewEndpoint } from "./new-endpoint.tsx";

/** Ms between two reads of the totals. */
const PACE_MS = 15_000;

const NONE = <span className="figure zero">–</span>;

const COLUMNS: readonly Column<Row>[] = [
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
		cell: ({ totals }) => (totals ? <Figure value={endedOf(totals)} /> : NONE),
	},
	{
		name: T.overview.errors,
		end: true,
		cell: ({ totals }) =>
			totals && endedOf(totals) > 0 ? (
				<span className={failedOf(totals) > 0 ? "figure bad" : "figure zero"}>{percent(ratioOf(totals))}</span>
			) : (
				NONE
			),
	},
	{ name: T.overview.delay, end: true, cell: ({ totals }) => <Span ms={totals?.delayMs.p95} /> },
	{
		name: T.overview.execution,
		end: true,
		cell: ({ totals }) => <Span ms={totals?.executionMs.p95} />,
	},
	{
		name: T.overview.time,
		end: true,
		cell: ({ totals }) => <Span ms={totals && 1000 * totals.executionSeconds} />,
	},
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

export function OverviewPage(): ReactNode {
	const { endpoints } = useFeed();
	const { query } = usePlace();
	const span = spanOf(query.get("span"));
	const [making, setMaking] = useState(false);
	const admin = useMay("admin");
	return (
		<>
			<header className="page-head">
				<h1>{T.pages.overview}</h1>
				<div className="actions">
					{endpoints === undefined || endpoints.length === 0 ? null : (
						<SpanChoice chosen={span.id} choose={(id) => go(to(["overview"], { span: id }), true)} />
					)}
					{admin ? (
						<Button icon="plus" onPress={() => setMaking(true)}>
							{T.newEndpoint.open}
						</Button>
					) : null}
				</div>
			</header>
			{endpoints === undefined ? (
				<Loading />
			) : (
				<>
					<FirstSteps endpoints={endpoints} />
					{endpoints.length === 0 ? null : <Summary endpoints={endpoints} span={span} />}
				</>
			)}
			{making ? <NewEndpoint close={() => setMaking(false)} /> : null}
		</>
	);
}

function Summary({
	endpoints,
	span: { id, ms },
}: {
	endpoints: readonly Overview[];
	span: ReturnType<typeof spanOf>;
}): ReactNode {
	const minute = Math.floor(useNow(MINUTE_MS) / MINUTE_MS);
	const { at } = useFeed();
	const load = (signal: AbortSignal): Promise<Totals> => {
		const end = now();
		const step = stepOf(end - ms, end, end);
		return ask<Totals>(`v1/metrics${search({ from: new Date(end - ms).toISOString(), step })}`, {
			signal,
		});
	};
	const { data, failure, reload } = useLoad(id, load, {
		change: `${at} ${minute}`,
		keep: true,
		pace: () => PACE_MS,
	});
	const rows = endpoints
		.map((overview) => ({
			overview,
			totals: data?.endpoints.find((each) => each.id === overview.id),
		}))
		.toSorted((a, b) => urgency(a) - urgency(b));
	const total = (of: (endpoint: Overview) => number): number =>
		endpoints.reduce((sum, endpoint) => sum + of(endpoint), 0);
	const sum = (of: (totals: EndpointTotals) => number): number =>
		(data?.endpoints ?? []).reduce((all, each) => all + of(each), 0);
	const [ended, failed] = [sum(endedOf), sum(failedOf)];
	const gpu = sum(({ gpuSeconds }) => gpuSeconds);
	return (
		<>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			<dl className="tiles">
				<Tile name={T.overview.queue} text={count(total(({ queue }) => queue.inQueue))} />
				<Tile name={T.overview.running} text={count(total(({ queue }) => queue.inProgress))} />
				<Tile name={T.overview.workers} text={count(total(({ workers }) => present(workers)))} />
				<Tile name={T.overview.endedIn(T.charts.spans[id])} text={count(ended)} />
				<Tile name={T.overview.errors} text={ended === 0 ? "–" : percent(failed / ended)} bad={failed > 0} />
				<Tile name={T.overview.time} text={duration(1000 * sum(({ executionSeconds }) => executionSeconds))} />
				{gpu > 0 ? <Tile name={T.overview.gpuTime} text={duration(1000 * gpu)} /> : null}
			</dl>
			<Attention rows={rows} span={T.charts.spans[id]} />
			<section className="card flush">
				<Table
					label={T.pages.endpoints}
					columns={COLUMNS}
					rows={rows}
					id={({ overview }) => overview.id}
					leads={({ overview }) => to(["endpoints", overview.id])}
				/>
			</section>
		</>
	);
}

function Tile({ name, text, bad = false }: { name: string; text: string; bad?: boolean }): ReactNode {
	return (
		<div className="tile">
			<dt>{name}</dt>
			<dd className={bad ? "bad" : undefined}>{text}</dd>
		</div>
	);
}

function Span({ ms }: { ms: number | null | undefined }): ReactNode {
	return ms === null || ms === undefined ? NONE : <span className="figure">{duration(ms)}</span>;
}

function Name({ endpoint }: { endpoint: Overview }): ReactNode {
	const { id, name, paused, workers, health } = endpoint;
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

function Figure({ value, loud = false, bad = false }: { value: number; loud?: boolean; bad?: boolean }): ReactNode {
	return (
		<span className={bad ? "figure bad" : loud ? "figure loud" : value === 0 ? "figure zero" : "figure"}>
			{count(value)}
		</span>
	);
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

export function failuresOf(perMinute: Overview["perMinute"]): number {
	return (perMinute.failed ?? 0) + (perMinute.timedOut ?? 0);
}

/** Workers that are there. */
export function present(workers: WorkerCounts): number {
	return workers.idle + workers.running + workers.initializing;
}
