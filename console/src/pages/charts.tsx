/**
 * An endpoint over time: queue, jobs by outcome, waiting and running times, workers, cold starts.
 */
import { useMemo } from "react";
import type { ReactNode } from "react";
import { ToggleButton, ToggleButtonGroup } from "react-aria-components";
import { ask, ofEndpoint, search } from "../api.ts";
import { now, useNow } from "../clock.ts";
import { useFeed, useOverview } from "../feed.ts";
import { count } from "../format.ts";
import { useLoad } from "../load.ts";
import { Chart } from "../parts/chart.tsx";
import type { Line } from "../parts/chart.tsx";
import { Loading, Refusal } from "../parts/notice.tsx";
import { go, to, usePlace } from "../router.ts";
import type { Metrics, Overview, Series } from "../shapes.ts";
import { T } from "../text.ts";
import { failuresOf } from "./overview.tsx";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Spans that may be looked at; the service keeps minutes for a day and hours for a month. */
const SPANS = [
	{ id: "1h", ms: HOUR_MS, step: MINUTE_MS },
	{ id: "6h", ms: 6 * HOUR_MS, step: MINUTE_MS },
	{ id: "24h", ms: 24 * HOUR_MS, step: MINUTE_MS },
	{ id: "30d", ms: 720 * HOUR_MS, step: HOUR_MS },
] as const;

/** Ms between two looks at the history; what is live comes by the feed. */
const PACE_MS = 15_000;

export function ChartsPage({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const span = SPANS.find((each) => each.id === query.get("span")) ?? SPANS[0];
	const { at } = useFeed();
	const overview = useOverview(id);
	const minute = Math.floor(useNow(MINUTE_MS) / MINUTE_MS);
	const load = (signal: AbortSignal): Promise<Metrics> => {
		const end = now();
		return ask<Metrics>(
			ofEndpoint(
				id,
				`/metrics${search({ from: new Date(end - span.ms).toISOString(), to: new Date(end).toISOString(), step: span.step })}`,
			),
			{ signal },
		);
	};
	const { data, failure, reload } = useLoad(`${id} ${span.id}`, load, {
		change: `${at} ${minute}`,
		pace: () => PACE_MS,
	});
	return (
		<>
			{overview ? <Now overview={overview} /> : null}
			<div className="bar end">
				<ToggleButtonGroup
					className="segments"
					aria-label={T.charts.span}
					selectionMode="single"
					disallowEmptySelection
					selectedKeys={[span.id]}
					onSelectionChange={([key]) =>
						go(to(["endpoints", id, "charts"], { span: String(key) }), true)
					}
				>
					{SPANS.map((each) => (
						<ToggleButton key={each.id} id={each.id} className="segment">
							{T.charts.spans[each.id]}
						</ToggleButton>
					))}
				</ToggleButtonGroup>
			</div>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data ? <Charts metrics={data} /> : failure ? null : <Loading />}
		</>
	);
}

/** The present, live. */
function Now({ overview: { queue, workers, perMinute } }: { overview: Overview }): ReactNode {
	const tiles: [string, number, boolean?][] = [
		[T.overview.queue, queue.inQueue],
		[T.overview.running, queue.inProgress],
		[
			T.overview.perMinute,
			(perMinute.completed ?? 0) + failuresOf(perMinute) + (perMinute.cancelled ?? 0),
		],
		[T.overview.failures, failuresOf(perMinute), true],
		[T.charts.busy, workers.running],
		[T.charts.idle, workers.idle],
		[T.charts.starting, workers.initializing],
	];
	return (
		<dl className="tiles">
			{tiles.map(([name, value, bad]) => (
				<div key={name} className="tile">
					<dt>{name}</dt>
					<dd className={bad && value > 0 ? "bad" : undefined}>{count(value)}</dd>
				</div>
			))}
		</dl>
	);
}

function Charts({ metrics: { from, step, series } }: { metrics: Metrics }): ReactNode {
	const times = useMemo(
		() => series.submitted.map((_, index) => (new Date(from).getTime() + index * step) / 1000),
		[from, step, series],
	);
	const lines = useMemo(() => linesOf(series), [series]);
	const per = step === MINUTE_MS ? T.charts.perMinute : T.charts.perHour;
	return (
		<div className="charts">
			<Chart title={T.charts.queue} times={times} lines={lines.queue} />
			<Chart title={`${T.charts.outcomes} ${per}`} times={times} lines={lines.outcomes} stacked />
			<Chart title={T.charts.delay} times={times} lines={lines.delay} unit="ms" />
			<Chart title={T.charts.execution} times={times} lines={lines.execution} unit="ms" />
			<Chart title={T.charts.workers} times={times} lines={lines.workers} stacked />
			<Chart
				title={`${T.charts.coldStarts} ${per}`}
				times={times}
				lines={lines.coldStarts}
				stacked
			/>
		</div>
	);
}

function linesOf(
	series: Metrics["series"],
): Record<
	"queue" | "outcomes" | "delay" | "execution" | "workers" | "coldStarts",
	readonly Line[]
> {
	const percentiles = (of: Record<"p50" | "p95" | "p99", Series>): Line[] => [
		{ name: "p50", tone: "chart-1", values: of.p50 },
		{ name: "p95", tone: "chart-2", values: of.p95 },
		{ name: "p99", tone: "chart-3", values: of.p99, dashed: true },
	];
	return {
		queue: [
			{ name: T.charts.queued, tone: "chart-2", values: series.queued },
			{ name: T.charts.running, tone: "chart-1", values: series.running },
		],
		outcomes: [
			{ name: T.states.COMPLETED, tone: "fill-good", values: series.completed },
			{ name: T.states.FAILED, tone: "fill-bad", values: series.failed },
			{ name: T.states.TIMED_OUT, tone: "fill-late", values: series.timedOut },
			{ name: T.states.CANCELLED, tone: "fill-off", values: series.cancelled },
		],
		delay: percentiles(series.delayMs),
		execution: percentiles(series.executionMs),
		workers: [
			{ name: T.charts.busy, tone: "fill-run", values: series.workersBusy },
			{ name: T.charts.idle, tone: "fill-good", values: series.workersReady },
			{ name: T.charts.starting, tone: "fill-wait", values: series.workersStarting },
		],
		coldStarts: [{ name: T.charts.coldStarts, tone: "fill-wait", values: series.coldStarts }],
	};
}
