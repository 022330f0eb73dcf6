/** Chart series: one value per step, null where unknown. */
import { type Histogram, percentiles } from "../../lib/histogram.ts";
import {
	addMetricBucket,
	type Counter,
	COUNTERS,
	type Gauge,
	GAUGES,
	type MetricBucket,
	newMetricBucket,
	type StepMs,
} from "./metric-buckets.ts";
import { record } from "../../lib/record.ts";

type Line = (number | null)[];

const QUANTILES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
type QuantileName = keyof typeof QUANTILES;
const QUANTILE_NAMES = Object.keys(QUANTILES) as QuantileName[];
type Percentiles = Record<QuantileName, Line>;

export type Series = Record<Counter | Gauge, Line> & {
	delayMs: Percentiles;
	executionMs: Percentiles;
};

/** `at`: start of the bucket, ms since the epoch. */
export interface DatedBucket {
	at: number;
	bucket: MetricBucket;
}

/**
 * Ends before `to`; buckets of the same step are added. `known`: starts of steps for which a server recorded metrics.
 */
export function seriesOf({
	from,
	to,
	step,
	buckets,
	known,
}: {
	from: number;
	to: number;
	step: StepMs;
	buckets: Iterable<DatedBucket>;
	known: ReadonlySet<number>;
}): Series {
	const sums = new Map<number, MetricBucket>();
	for (const { at, bucket } of buckets) {
		const sum = sums.get(at) ?? newMetricBucket();
		addMetricBucket(sum, bucket);
		sums.set(at, sum);
	}
	const empty = newMetricBucket();
	const steps: (MetricBucket | undefined)[] = [];
	for (let at = from; at < to; at += step) steps.push(sums.get(at) ?? (known.has(at) ? empty : undefined));
	const line = (value: (bucket: MetricBucket) => number): Line =>
		steps.map((bucket) => (bucket ? value(bucket) : null));
	return {
		...record(COUNTERS, (name) => line(({ counts }) => counts[name])),
		...record(GAUGES, (name) => line(({ most }) => most[name])),
		delayMs: percentileLines(steps.map((bucket) => bucket?.delay)),
		executionMs: percentileLines(steps.map((bucket) => bucket?.execution)),
	};
}

export function percentilesOf(histogram: Histogram): Record<QuantileName, number | null> {
	const values = percentiles(histogram, Object.values(QUANTILES));
	return record(QUANTILE_NAMES, (_, index) => values?.[index] ?? null);
}

function percentileLines(histograms: readonly (Histogram | undefined)[]): Percentiles {
	const values = histograms.map((histogram) => histogram && percentilesOf(histogram));
	return record(QUANTILE_NAMES, (name) => values.map((each) => each?.[name] ?? null));
}
