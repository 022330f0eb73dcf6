/** Metrics of an endpoint per minute or hour (D40). Buckets of several servers are added. */
import {
	addHistogram,
	type Histogram,
	newHistogram,
	observe,
	packHistogram,
	unpackHistogram,
} from "../../lib/histogram.ts";
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
	/** Jobs by the version that launched the worker (D50), of the newest `MOST_RELEASES` versions. */
	releases: Map<number, ReleaseJobs>;
}

const MOST_RELEASES = 4;

/** Jobs that ended on workers of one release. */
export interface ReleaseJobs {
	completed: number;
	/** FAILED and TIMED_OUT. */
	failed: number;
	/** Runs whose workers reported the end, ms. */
	execution: Histogram;
}

export function newMetricBucket(): MetricBucket {
	return {
		counts: record(COUNTERS, () => 0),
		most: record(GAUGES, () => 0),
		delay: newHistogram(),
		execution: newHistogram(),
		releases: new Map(),
	};
}

export function newReleaseJobs(): ReleaseJobs {
	return { completed: 0, failed: 0, execution: newHistogram() };
}

export function addMetricBucket(to: MetricBucket, from: MetricBucket): void {
	for (const name of COUNTERS) to.counts[name] += from.counts[name];
	for (const name of GAUGES) to.most[name] = Math.max(to.most[name], from.most[name]);
	addHistogram(to.delay, from.delay);
	addHistogram(to.execution, from.execution);
	addReleases(to.releases, from.releases);
	keepNewest(to.releases);
}

/** `ranMs`: if the worker reported the end. A cancelled job says nothing about a release. */
export function countOfRelease(
	{ releases }: MetricBucket,
	{ release, outcome, ranMs }: { release: number; outcome: Outcome; ranMs?: number | undefined },
): void {
	if (outcome === "cancelled") return;
	const jobs = jobsOf(releases, release);
	jobs[outcome === "completed" ? "completed" : "failed"] += 1;
	if (ranMs !== undefined) observe(jobs.execution, ranMs);
	keepNewest(releases);
}

export function addReleases(to: Map<number, ReleaseJobs>, from: ReadonlyMap<number, ReleaseJobs>): void {
	for (const [version, { completed, failed, execution }] of from) {
		const jobs = jobsOf(to, version);
		jobs.completed += completed;
		jobs.failed += failed;
		addHistogram(jobs.execution, execution);
	}
}

function jobsOf(releases: Map<number, ReleaseJobs>, version: number): ReleaseJobs {
	const found = releases.get(version) ?? newReleaseJobs();
	releases.set(version, found);
	return found;
}

function keepNewest(releases: Map<number, ReleaseJobs>): void {
	while (releases.size > MOST_RELEASES) releases.delete(Math.min(...releases.keys()));
}

export function isEmpty({ counts, most, delay }: MetricBucket): boolean {
	return (
		COUNTERS.every((name) => counts[name] === 0) && GAUGES.every((name) => most[name] === 0) && delay.counts.size === 0
	);
}

export function metricBucketText({ counts, most, delay, execution, releases }: MetricBucket): string {
	return JSON.stringify([
		COUNTERS.map((name) => counts[name]),
		GAUGES.map((name) => most[name]),
		packHistogram(delay),
		packHistogram(execution),
		[...releases].map(([version, jobs]) => [version, jobs.completed, jobs.failed, ...packHistogram(jobs.execution)]),
	]);
}

type Packed = [counts?: number[], most?: number[], delay?: number[], execution?: number[], releases?: number[][]];

/** Counters missing in an older version are 0. */
export function readMetricBucket(text: string): MetricBucket {
	const [counts = [], most = [], delay = [], execution = [], releases = []] = JSON.parse(text) as Packed;
	return {
		counts: record(COUNTERS, (_, index) => counts[index] ?? 0),
		most: record(GAUGES, (_, index) => most[index] ?? 0),
		delay: unpackHistogram(delay),
		execution: unpackHistogram(execution),
		releases: new Map(
			releases.map(([version = 0, completed = 0, failed = 0, ...runs]) => [
				version,
				{ completed, failed, execution: unpackHistogram(runs) },
			]),
		),
	};
}
