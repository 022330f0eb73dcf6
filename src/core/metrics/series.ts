/**
 * Tallies of one endpoint as lines for charts: a value for each step, null where nothing is known.
 */
import type { Histogram } from "./histogram.ts";
import { percentiles } from "./histogram.ts";
import { COUNTERS, GAUGES, addMetricBucket, newMetricBucket } from "./metric-buckets.ts";
import type { Counter, Gauge, StepMs, MetricBucket } from "./metric-buckets.ts";

type Line = (number | null)[];

/** The parts of all whose longest duration is told. */
const PARTS = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
type Percentiles = Record<keyof typeof PARTS, Line>;

export type Series = Record<Counter | Gauge, Line> & {
	delayMs: Percentiles;
	executionMs: Percentiles;
};

/** A tally and the beginning of its step, ms since the epoch. */
export interface Dated {
	at: number;
	tally: MetricBucket;
}

/**
 * Lines from the step that begins at `from` until before `to`. Several tallies of a step are added
 * up. `known`: beginnings of the steps in which a server looked; of others nothing is known.
 */
export function seriesOf({
	from,
	to,
	step,
	tallies,
	known,
}: {
	from: number;
	to: number;
	step: StepMs;
	tallies: Iterable<Dated>;
	known: ReadonlySet<number>;
}): Series {
	const sums = new Map<number, MetricBucket>();
	for (const { at, tally } of tallies) {
		const sum = sums.get(at) ?? newMetricBucket();
		addMetricBucket(sum, tally);
		sums.set(at, sum);
	}
	const nothing = newMetricBucket();
	const steps: (MetricBucket | undefined)[] = [];
	for (let at = from; at < to; at += step)
		steps.push(sums.get(at) ?? (known.has(at) ? nothing : undefined));
	const line = (value: (tally: MetricBucket) => number): Line =>
		steps.map((tally) => (tally ? value(tally) : null));
	return {
		...(Object.fromEntries(
			COUNTERS.map((name) => [name, line(({ counts }) => counts[name])]),
		) as Record<Counter, Line>),
		...(Object.fromEntries(GAUGES.map((name) => [name, line(({ most }) => most[name])])) as Record<
			Gauge,
			Line
		>),
		delayMs: percentileLines(steps.map((tally) => tally?.delay)),
		executionMs: percentileLines(steps.map((tally) => tally?.execution)),
	};
}

function percentileLines(histograms: readonly (Histogram | undefined)[]): Percentiles {
	const values = histograms.map(
		(histogram) => histogram && percentiles(histogram, Object.values(PARTS)),
	);
	return Object.fromEntries(
		Object.keys(PARTS).map((name, index) => [name, values.map((each) => each?.[index] ?? null)]),
	) as Percentiles;
}
