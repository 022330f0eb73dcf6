/** Jobs that ended in the chosen time: how many, against the time before, and a chart of the busiest endpoints. */
import { type ReactNode, Suspense, useMemo } from "react";
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { now } from "../../client/clock.ts";
import { number, percent } from "../../text/format.ts";
import { lazyPage } from "../../parts/lazy-page.ts";
import { useLoad } from "../../client/load.ts";
import { MINUTE_MS, type SPANS, stepOf } from "../../values/ranges.ts";
import type { Metrics } from "../../client/shapes.ts";
import { T } from "../../text/text.ts";
import { endedOf, type EndpointRow } from "../../values/totals.ts";

/** Charts are loaded after the page that the console begins with. */
const Chart = lazyPage(() => import("../../parts/charts/chart.tsx").then(({ Chart: chart }) => ({ default: chart })));

const PACE_MS = 15_000;

const TONES = ["chart-1", "chart-2", "chart-3", "chart-4", "chart-5"] as const;

export function Hero({
	rows,
	span: { id: span, ms },
	ended,
	before,
	change,
}: {
	rows: readonly EndpointRow[];
	span: (typeof SPANS)[number];
	ended: number;
	/** In the time of the same length before; undefined where it is not kept. */
	before: number | undefined;
	change: unknown;
}): ReactNode {
	const busiest = rows
		.filter(({ totals }) => totals && endedOf(totals) > 0)
		.toSorted((a, b) => endedOf(b.totals!) - endedOf(a.totals!))
		.slice(0, TONES.length)
		.map(({ overview: { id, name } }) => ({ id, name }))
		.toSorted((a, b) => (a.name < b.name ? -1 : 1));
	const ids = busiest.map(({ id }) => id).join(" ");
	const { data } = useLoad(
		`${span} ${ids}`,
		async (signal) => {
			const end = now();
			const query = search({ from: new Date(end - ms).toISOString(), step: stepOf(end - ms, end, end) });
			return await Promise.all(
				busiest.map(async ({ id, name }) => ({
					name,
					metrics: await ask<Metrics>(ofEndpoint(id, `/metrics${query}`), { signal }),
				})),
			);
		},
		{ change, keep: true, pace: () => PACE_MS },
	);
	const { times, lines, step } = useMemo(() => chartOf(data ?? []), [data]);
	return (
		<section className="card hero">
			<div className="hero-figures">
				<h2>{T.overview.endedIn(T.charts.spans[span])}</h2>
				<p className="hero-number">{number(ended)}</p>
				{before === undefined ? null : <p className="muted">{changeText(ended, before)}</p>}
			</div>
			<div className="hero-chart">
				{times.length === 0 ? null : (
					<Suspense>
						<Chart
							title={T.overview.byEndpoint(step === MINUTE_MS, rows.length > TONES.length)}
							times={times}
							lines={lines}
							kind="stacked"
							sums
						/>
					</Suspense>
				)}
			</div>
		</section>
	);
}

function changeText(ended: number, before: number): string {
	if (before === 0) return ended === 0 ? T.overview.same : T.overview.noneBefore;
	const change = (ended - before) / before;
	if (change === 0) return T.overview.same;
	if (change > 2) return T.overview.times(number(Math.round(ended / before)));
	return change > 0 ? T.overview.more(percent(change)) : T.overview.fewer(percent(-change));
}

/** All series have the same steps, but for a minute that begins between two answers. */
function chartOf(all: readonly { name: string; metrics: Metrics }[]): {
	times: number[];
	lines: { name: string; tone: string; values: number[] }[];
	step: number;
} {
	const from = Math.max(...all.map(({ metrics }) => new Date(metrics.from).getTime()));
	const step = all[0]?.metrics.step ?? MINUTE_MS;
	const steps = Math.min(
		...all.map(({ metrics }) => metrics.series.completed.length - (from - new Date(metrics.from).getTime()) / step),
	);
	if (all.length === 0) return { times: [], lines: [], step };
	return {
		step,
		times: Array.from({ length: steps }, (_, index) => (from + index * step) / 1000),
		lines: all.map(({ name, metrics: { from: begin, series } }, index) => {
			const skipped = (from - new Date(begin).getTime()) / step;
			const of = (values: Metrics["series"]["completed"], at: number): number => values[skipped + at] ?? 0;
			return {
				name,
				tone: TONES[index]!,
				values: Array.from(
					{ length: steps },
					(__, at) => of(series.completed, at) + of(series.failed, at) + of(series.timedOut, at),
				),
			};
		}),
	};
}
