/**
 * An endpoint over time: queue, jobs by outcome, waiting and running times, workers, cold starts,
 * and when its settings were changed.
 */
import { type ReactNode, useMemo } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { now, useTick } from "../../client/clock.ts";
import { useFeed, useOverview } from "../../client/feed.ts";
import { count, moment } from "../../text/format.ts";
import { useLoad } from "../../client/load.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Chart } from "../../parts/charts/chart.tsx";
import type { Line, Marker } from "../../parts/charts/chart-drawing.ts";
import { Loading, Refusal } from "../../parts/notice.tsx";
import { SpanChoice } from "../../parts/charts/span-choice.tsx";
import { MINUTE_MS, type Range, rangeOf, zoomed } from "../../values/ranges.ts";
import { go, to, usePlace } from "../../client/router.ts";
import { useMay } from "../../client/session.ts";
import type { AuditEntry, Metrics, Overview, Page, Series } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { failedOf, fails } from "../../values/totals.ts";

/** Ms between two reads of the history; what is live comes by the feed. */
const PACE_MS = 15_000;

export default function ChartsPage({ id }: { id: string }): ReactNode {
	const { query } = usePlace();
	const { at } = useFeed();
	const overview = useOverview(id);
	const minute = useTick(MINUTE_MS);
	const range = rangeOf(query, now());
	const key = range.span ?? `${range.from} ${range.to}`;
	const load = (signal: AbortSignal): Promise<Metrics> => {
		const { from, to: end, step } = rangeOf(query, now());
		return ask<Metrics>(
			ofEndpoint(
				id,
				`/metrics${search({ from: new Date(from).toISOString(), to: new Date(end).toISOString(), step })}`,
			),
			{ signal },
		);
	};
	const { data, failure, reload } = useLoad(`${id} ${key}`, load, {
		change: range.span === undefined ? undefined : `${at} ${minute}`,
		keep: true,
		pace: () => PACE_MS,
	});
	const markers = useChanges(id, range);
	const show = (from: number, end: number): void => {
		const part = zoomed(from, end, now());
		go(to(["endpoints", id, "charts"], { from: `${part.from}`, to: `${part.to}` }));
	};
	return (
		<>
			{overview ? <Now overview={overview} /> : null}
			<div className="bar">
				<RangeMoves range={range} show={show} />
				<SpanChoice chosen={range.span} choose={(span) => go(to(["endpoints", id, "charts"], { span }), true)} />
			</div>
			{failure ? <Refusal failure={failure} again={reload} /> : null}
			{data ? <Charts metrics={data} markers={markers} zoom={show} /> : failure ? null : <Loading />}
			<Changes markers={markers} />
		</>
	);
}

/** Moves and scales the range by keyboard; a drag over a chart does the same. */
function RangeMoves({
	range: { from, to: end, span },
	show,
}: {
	range: Range;
	show: (from: number, to: number) => void;
}): ReactNode {
	const part = (end - from) / 4;
	return (
		<div className="actions range-moves">
			<IconButton name={T.charts.earlier} icon="left" onPress={() => show(from - 2 * part, end - 2 * part)} />
			<IconButton
				name={T.charts.later}
				icon="right"
				disabled={span !== undefined}
				onPress={() => show(from + 2 * part, end + 2 * part)}
			/>
			<Button look="quiet" icon="search" onPress={() => show(from + part, end - part)}>
				{T.charts.zoomIn}
			</Button>
			{span === undefined ? (
				<span className="muted" role="status">
					{moment(from)} – {moment(end)}
				</span>
			) : (
				<span className="muted wide-only">{T.charts.drag}</span>
			)}
		</div>
	);
}

/** What administrators changed in that time; only they may read it. */
function useChanges(id: string, { from, to: end, span }: Range): readonly Marker[] {
	const admin = useMay("admin");
	const { data } = useLoad(
		`${id} ${admin}`,
		async (signal) =>
			admin
				? (
						await Promise.all(
							(["updateEndpoint", "putEndpoint", "createEndpoint"] as const).map((action) =>
								ask<Page<"entries", AuditEntry>>(`v1/audit${search({ action, limit: 100 })}`, {
									signal,
								}),
							),
						)
					).flatMap(({ entries }) => entries)
				: [],
		{ change: span === undefined ? undefined : Math.floor(end / MINUTE_MS), pace: () => PACE_MS },
	);
	return useMemo(
		() =>
			(data ?? [])
				.filter(({ subject, result }) => subject[0] === id && result === "ok")
				.map(({ at, action, keyName }) => ({
					at: new Date(at).getTime() / 1000,
					text: T.audit.actions[action as keyof typeof T.audit.actions],
					by: keyName,
				}))
				.filter(({ at }) => at * 1000 >= from && at * 1000 <= end)
				.toSorted((a, b) => b.at - a.at),
		// The range of a span moves with every load.
		// oxlint-disable-next-line react/exhaustive-deps
		[data, id, Math.floor(from / MINUTE_MS), Math.floor(end / MINUTE_MS)],
	);
}

/** The markers of the charts as a list. */
function Changes({ markers }: { markers: readonly Marker[] }): ReactNode {
	if (markers.length === 0) return null;
	return (
		<section className="card">
			<h2>{T.charts.changes}</h2>
			<ul className="changes">
				{markers.map(({ at, text, by }) => (
					<li key={`${at} ${text}`}>
						<time dateTime={new Date(at * 1000).toISOString()}>{moment(at * 1000)}</time> {text}{" "}
						<span className="muted">{T.charts.by(by)}</span>
					</li>
				))}
			</ul>
		</section>
	);
}

/** The present, live. */
function Now({ overview: { queue, workers, perMinute } }: { overview: Overview }): ReactNode {
	const { completed = 0, failed = 0, timedOut = 0, cancelled = 0 } = perMinute;
	const failures = failedOf({ failed, timedOut });
	const tiles: [string, number, boolean?][] = [
		[T.overview.queue, queue.inQueue],
		[T.overview.running, queue.inProgress],
		[T.overview.perMinute, completed + failures + cancelled],
		[T.overview.failures, failures, fails({ completed, failed, timedOut })],
		[T.charts.busy, workers.running],
		[T.charts.idle, workers.idle],
		[T.charts.starting, workers.initializing],
	];
	return (
		<dl className="tiles">
			{tiles.map(([name, value, bad]) => (
				<div key={name} className="tile">
					<dt>{name}</dt>
					<dd className={bad ? "bad" : undefined}>{count(value)}</dd>
				</div>
			))}
		</dl>
	);
}

function Charts({
	metrics: { from, step, series },
	markers,
	zoom,
}: {
	metrics: Metrics;
	markers: readonly Marker[];
	zoom: (from: number, to: number) => void;
}): ReactNode {
	const times = useMemo(
		() => series.submitted.map((_, index) => (new Date(from).getTime() + index * step) / 1000),
		[from, step, series],
	);
	const lines = useMemo(() => linesOf(series), [series]);
	const per = step === MINUTE_MS ? T.charts.perMinute : T.charts.perHour;
	const shared = { times, markers, zoom };
	return (
		<div className="charts">
			<Chart {...shared} title={`${T.charts.outcomes} ${per}`} lines={lines.outcomes} kind="stacked" sums />
			<Chart {...shared} title={`${T.charts.failures} ${per}`} lines={lines.failures} kind="stacked" sums />
			<Chart {...shared} title={`${T.charts.queue} ${per}`} lines={lines.queue} />
			<Chart {...shared} title={T.charts.delay} lines={lines.delay} unit="ms" />
			<Chart {...shared} title={T.charts.execution} lines={lines.execution} unit="ms" />
			<Chart {...shared} title={`${T.charts.workers} ${per}`} lines={lines.workers} kind="stepped" />
			<Chart {...shared} title={`${T.charts.coldStarts} ${per}`} lines={lines.coldStarts} kind="stacked" sums />
		</div>
	);
}

function linesOf(
	series: Metrics["series"],
): Record<"queue" | "outcomes" | "failures" | "delay" | "execution" | "workers" | "coldStarts", readonly Line[]> {
	const percentiles = (of: Record<"p50" | "p95" | "p99", Series>): Line[] => [
		{ name: "p50", tone: "chart-1", values: of.p50 },
		{ name: "p95", tone: "chart-2", values: of.p95 },
		{ name: "p99", tone: "chart-3", values: of.p99, dashed: true },
	];
	const failures: Line[] = [
		{ name: T.states.FAILED, tone: "fill-bad", values: series.failed },
		{ name: T.states.TIMED_OUT, tone: "fill-late", values: series.timedOut },
	];
	return {
		queue: [
			{ name: T.charts.queued, tone: "fill-wait", values: series.queued },
			{ name: T.charts.running, tone: "fill-run", values: series.running },
		],
		outcomes: [
			{ name: T.states.COMPLETED, tone: "fill-good", values: series.completed },
			{ name: T.states.CANCELLED, tone: "fill-off", values: series.cancelled },
			...failures,
		],
		failures,
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
