/** Metrics of an endpoint per minute or hour (D40). Buckets of several servers are added. */
import { addHistogram, type Histogram, newHistogram, packHistogram, unpackHistogram } from "../../lib/histogram.ts";
import type { JobState } from "../jobs/job-states.ts";
import { record } from "../../lib/record.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const STEPS = [MINUTE_MS, HOUR_MS] as const;
export type StepMs = (typeof STEPS)[number];

export const METRICS_KEPT_MS: Readonly<Record<StepMs, number>> = {
	[MINUTE_MS]: 86_400_000,
	[HOUR_MS]: 30 * 86_400_000,
};

export const OUTCOMES = ["completed", "failed", "timedOut", "cancelled"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const OUTCOME_OF: Readonly<Partial<Record<JobState, Outcome>>> = {
	COMPLETED: "completed",
	FAILED: "failed",
	TIMED_OUT: "timedOut",
	CANCELLED: "cancelled",
};

/** `retried`: by `/retry` or loss; `coldStarts`: launched workers. Stored in this order: append new counters. */
export const COUNTERS = ["submitted", ...OUTCOMES, "retried", "coldStarts"] as const;
export type Counter = (typeof COUNTERS)[number];

/** Maxima are kept. Worker states as in `/health`. Stored in this order. */
export const GAUGES = ["queued", "running", "workersReady", "workersBusy", "workersStarting"] as const;
export type Gauge = (typeof GAUGES)[number];

export interface MetricBucket {
	counts: Record<Counter, number>;
	most: Record<Gauge, number>;
	/** Queue waits of started jobs, ms. */
	delay: Histogram;
	/** Runs whose workers reported the end, ms. */
	execution: Histogram;
}

export function newMetricBucket(): MetricBucket {
	return {
		counts: record(COUNTERS, () => 0),
		most: record(GAUGES, () => 0),
		delay: newHistogram(),
		execution: newHistogram(),
	};
}

export function addMetricBucket(to: MetricBucket, from: MetricBucket): void {
	for (const name of COUNTERS) to.counts[name] += from.counts[name];
	for (const name of GAUGES) to.most[name] = Math.max(to.most[name], from.most[name]);
	addHistogram(to.delay, from.delay);
	addHistogram(to.execution, from.execution);
}

export function isEmpty({ counts, most, delay }: MetricBucket): boolean {
	return (
		COUNTERS.every((name) => counts[name] === 0) && GAUGES.every((name) => most[name] === 0) && delay.counts.size === 0
	);
}

export function metricBucketText({ counts, most, delay, execution }: MetricBucket): string {
	return JSON.stringify([
		COUNTERS.map((name) => counts[name]),
		GAUGES.map((name) => most[name]),
		packHistogram(delay),
		packHistogram(execution),
	]);
}

/** Counters missing in an older version are 0. */
export function readMetricBucket(text: string): MetricBucket {
	const [counts = [], most = [], delay = [], execution = []] = JSON.parse(text) as number[][];
	return {
		counts: record(COUNTERS, (_, index) => counts[index] ?? 0),
		most: record(GAUGES, (_, index) => most[index] ?? 0),
		delay: unpackHistogram(delay),
		execution: unpackHistogram(execution),
	};
}
