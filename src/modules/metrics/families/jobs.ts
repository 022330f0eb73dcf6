/** Metrics of jobs, and their runs. */
import type { Histogram } from "../../../kernel/lib/histogram.ts";
import { type Counter, type MetricBucket, OUTCOMES } from "../../../kernel/core/metrics/metric-buckets.ts";
import { DROP_REASONS, REQUEUE_CAUSES } from "../event-counts.ts";
import type { Sample } from "../../../kernel/core/metrics/family.ts";
import { counter, each, gauge, histogram, type Metric } from "./definition.ts";
import type { Scrape } from "./scrape.ts";

const total =
	(of: Counter) =>
	({ totals }: Scrape): Sample[] =>
		totals.map(([endpoint, { counts }]) => [[endpoint], counts[of]]);

const durations =
	(of: (bucket: MetricBucket) => Histogram) =>
	({ totals }: Scrape): Sample[] =>
		totals.map(([endpoint, bucket]) => [[endpoint], of(bucket)]);

export const JOB_METRICS: readonly Metric[] = [
	gauge("sluice_jobs", ["endpoint", "state"], "Jobs that wait or run, on all servers.", ({ snapshots }) =>
		snapshots.flatMap(({ endpoint: { id }, jobs }) =>
			each({ IN_QUEUE: jobs.inQueue, IN_PROGRESS: jobs.inProgress }, id),
		),
	),
	gauge(
		"sluice_job_oldest_wait_seconds",
		["endpoint"],
		"Time since the oldest waiting job that is not of low priority was queued, on all servers; 0 if none waits.",
		({ snapshots, waits }) => snapshots.map(({ endpoint: { id } }) => [[id], (waits.get(id) ?? 0) / 1000]),
	),
	counter("sluice_jobs_submitted_total", ["endpoint"], "Jobs accepted by this server.", total("submitted")),
	counter("sluice_jobs_ended_total", ["endpoint", "outcome"], "Jobs whose end this server recorded.", ({ totals }) =>
		totals.flatMap(([endpoint, { counts }]) =>
			OUTCOMES.map((outcome): Sample => [[endpoint, outcome], counts[outcome]]),
		),
	),
	counter("sluice_jobs_retried_total", ["endpoint"], "Returns to the queue by a retry or a loss.", total("retried")),
	counter(
		"sluice_jobs_requeued_total",
		["endpoint", "cause"],
		"Returns to the queue: `lost` by a dead or silent worker, `released` by a worker, or `retried` by a client.",
		({ counts, endpoints }) => counts.requeued.samples(endpoints, REQUEUE_CAUSES),
	),
	counter(
		"sluice_jobs_purged_total",
		["endpoint"],
		"Waiting jobs that were removed by a purge of the queue.",
		({ counts }) => counts.purged.samples(),
	),
	counter(
		"sluice_reports_dropped_total",
		["endpoint", "reason"],
		"Results and chunks that changed nothing, because their worker does not hold the job.",
		({ counts, endpoints }) => counts.dropped.samples(endpoints, DROP_REASONS),
	),
	histogram(
		"sluice_job_delay_seconds",
		["endpoint"],
		"Waits in the queue of jobs sent to workers by this server.",
		durations(({ delay }) => delay),
	),
	histogram(
		"sluice_job_execution_seconds",
		["endpoint"],
		"Runs whose end a worker reported to this server.",
		durations(({ execution }) => execution),
	),
	gauge("sluice_stored_bytes", ["endpoint"], "Inputs, results and chunks of jobs in the store.", ({ stored }) =>
		stored.map(({ endpoint, bytes }) => [[endpoint], bytes]),
	),
];
