/** Metrics of jobs, their runs and their webhooks. */
import type { Histogram } from "../../../kernel/lib/histogram.ts";
import {
	type Counter,
	type MetricBucket,
	OUTCOMES,
	type ReleaseJobs,
} from "../../../kernel/core/metrics/metric-buckets.ts";
import { DROP_REASONS, REQUEUE_CAUSES } from "../event-counts.ts";
import type { Sample } from "./family.ts";
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

/** Versions of each endpoint, the newest with jobs, which bounds the number of labels. */
const SHOWN_RELEASES = 2;

const releases = ({ totals }: Scrape): (readonly [labels: readonly [string, string], jobs: ReleaseJobs])[] =>
	totals.flatMap(([endpoint, bucket]) =>
		[...bucket.releases]
			.toSorted(([one], [other]) => other - one)
			.slice(0, SHOWN_RELEASES)
			.map(([version, jobs]) => [[endpoint, String(version)], jobs] as const),
	);

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
	counter(
		"sluice_release_jobs_ended_total",
		["endpoint", "release", "outcome"],
		"Jobs that ended on launched workers, by version; failed: also timed out. The two newest with jobs.",
		(scrape) => releases(scrape).flatMap(([labels, { completed, failed }]) => each({ completed, failed }, ...labels)),
	),
	histogram(
		"sluice_release_execution_seconds",
		["endpoint", "release"],
		"Runs whose end a launched worker reported to this server, by version.",
		(scrape) => releases(scrape).map(([labels, { execution }]) => [labels, execution]),
	),
	counter(
		"sluice_openai_tokens_total",
		["endpoint", "kind"],
		"Tokens by the `usage` of answers of `/openai/*`, `input` and `output`; no series without any.",
		({ engine }) => engine.metrics.tokens.samples(),
	),
	gauge("sluice_stored_bytes", ["endpoint"], "Inputs, results and chunks of jobs in the store.", ({ stored }) =>
		stored.map(({ endpoint, bytes }) => [[endpoint], bytes]),
	),
	gauge(
		"sluice_webhooks_pending",
		["endpoint"],
		"Webhook deliveries that are due later or in flight, on all servers; at most 10,000 are counted.",
		({ pending }) => pending.map(({ endpoint, count }) => [[endpoint], count]),
	),
	gauge(
		"sluice_webhooks_overdue_seconds",
		["endpoint"],
		"Time since the longest due webhook delivery was due, on all servers; 0 if all are due later or in flight.",
		({ engine, pending }) =>
			pending.map(({ endpoint, oldestDueAt }) => [[endpoint], Math.max(0, engine.now() - oldestDueAt) / 1000]),
	),
	counter("sluice_webhooks_total", ["endpoint", "state"], "Webhook deliveries finished by this server.", ({ engine }) =>
		[...engine.metrics.deliveries.totals].flatMap(([endpoint, counts]) => each(counts, endpoint)),
	),
];
