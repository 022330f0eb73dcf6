/**
 * Metrics of endpoints over time (D40): minutes are kept for a day, hours for 30 days. A crash loses the counts since
 * the last full minute. Each server writes its own rows; reads add them up.
 */
import type { EpochMs } from "../../lib/time.ts";
import { type Histogram, newHistogram, observe } from "../../lib/histogram.ts";
import { type DatedBucket, seriesOf } from "../../core/metrics/series.ts";
import {
	addMetricBucket,
	addReleases,
	HOUR_MS,
	isEmpty,
	type MetricBucket,
	metricBucketText,
	METRICS_KEPT_MS,
	MINUTE_MS,
	newMetricBucket,
	readMetricBucket,
	type ReleaseJobs,
	type StepMs,
	STEPS,
} from "../../core/metrics/metric-buckets.ts";
import { loop, type Service } from "../../system/loop.ts";
import type { MetricsRow } from "../../store/contract/records.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type EngineContext, unlessUnavailable } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { EndpointSnapshot } from "./health.ts";
import { beginning, type CountedEndpoint, metricCounters, type MetricCounters } from "./metric-counters.ts";

const SAMPLE_MS = 5000;

/** Rows in one step, so that other operations get their turn. */
const MAX_ROWS = 500;

/** Rows of this endpoint show only that the server was running. */
const SERVER = "";

/** Begins with the step of `from` and ends before `to`, as far as steps are kept. */
interface HistoryQuery {
	endpoint: string;
	step: StepMs;
	from: EpochMs;
	to: EpochMs;
}

interface Deps extends EngineContext {
	/** Random at each start. */
	run: string;
	endpoints: Endpoints;
	/** One of several servers samples for all. */
	cluster: Cluster;
	snapshots: () => Promise<EndpointSnapshot[]>;
}

export class MetricHistory {
	readonly service: Service;
	readonly storeMs = { read: newHistogram(), write: newHistogram() };
	readonly #d: Deps;
	readonly #counters: MetricCounters;

	constructor(d: Deps) {
		this.#d = d;
		this.#counters = metricCounters(d);
		const writer = loop({
			clock: d.clock,
			retryMs: SAMPLE_MS,
			onError: unlessUnavailable(d, "writing metrics"),
			step: async () => {
				this.#counters.turn();
				await this.#write();
				if (d.cluster.leads("sweep")) await this.#sample();
				const now = d.now();
				return Math.min(SAMPLE_MS, Math.max(1, beginning(now, MINUTE_MS) + MINUTE_MS - now));
			},
		});
		this.service = {
			start: writer.start,
			stop: async () => {
				await writer.stop();
				this.#counters.end();
				await this.#write().catch(() => {});
			},
		};
	}

	totals(): ReadonlyMap<string, MetricBucket> {
		return this.#counters.totals();
	}

	/** `from`: beginning of the first step. */
	async series(q: HistoryQuery) {
		const { step } = q;
		const { from, to, buckets, known } = await this.#bucketsOf(q, [SERVER, q.endpoint]);
		return { step, from, series: seriesOf({ from, to, step, buckets, known }) };
	}

	async total(q: HistoryQuery): Promise<MetricBucket> {
		const sum = newMetricBucket();
		const { buckets } = await this.#bucketsOf(q, [q.endpoint]);
		for (const { bucket } of buckets) addMetricBucket(sum, bucket);
		return sum;
	}

	/**
	 * Returns jobs by version of the release. Without a step minutes while they are kept for `from`, else hours. A day
	 * of minutes takes some 100 ms of processor time.
	 */
	async byRelease(
		q: Omit<HistoryQuery, "step"> & { step?: StepMs | undefined },
	): Promise<ReadonlyMap<number, ReleaseJobs>> {
		const sum = new Map<number, ReleaseJobs>();
		const minutesSince = this.#d.now() - METRICS_KEPT_MS[MINUTE_MS] - MINUTE_MS;
		const { step = q.from < minutesSince ? HOUR_MS : MINUTE_MS } = q;
		const { buckets } = await this.#bucketsOf({ ...q, step }, [q.endpoint]);
		for (const { bucket } of buckets) addReleases(sum, bucket.releases);
		return sum;
	}

	async #timed<T>(histogram: Histogram, work: Promise<T>): Promise<T> {
		const { clock } = this.#d;
		const began = clock.now();
		const result = await work;
		observe(histogram, Math.max(0, clock.now() - began));
		return result;
	}

	async #sample(): Promise<void> {
		for (const { endpoint, jobs, workers } of await this.#timed(this.storeMs.read, this.#d.snapshots())) {
			const values = {
				queued: jobs.inQueue,
				running: jobs.inProgress,
				workersReady: workers.ready,
				workersBusy: workers.running,
				workersStarting: workers.initializing,
			};
			// An idle endpoint needs no bucket.
			if (Object.values(values).every((value) => value === 0)) continue;
			const { most } = this.#counters.of(endpoint.id);
			for (const name of Object.keys(values) as (keyof typeof values)[])
				most[name] = Math.max(most[name], values[name]);
		}
	}

	#rowsOf({ step, at, tallies }: CountedEndpoint): MetricsRow[] {
		const { run: source, endpoints } = this.#d;
		// Rows of a deleted endpoint must not be written again.
		const kept = [...tallies].filter(([endpoint, tally]) => endpoints.has(endpoint) && !isEmpty(tally));
		const texts = kept.map(([endpoint, tally]) => [endpoint, metricBucketText(tally)] as const);
		return [[SERVER, "[]"] as const, ...texts].map(([endpoint, tally]) => ({ step, at, source, endpoint, tally }));
	}

	async #write(): Promise<void> {
		const { store, cluster, now } = this.#d;
		const counted = this.#counters.unwritten();
		if (counted.length === 0) return;
		const rows = counted.flatMap((each) => this.#rowsOf(each));
		for (let at = 0; at < rows.length; at += MAX_ROWS)
			await this.#timed(this.storeMs.write, store.metrics.put({ rows: rows.slice(at, at + MAX_ROWS) }));
		this.#counters.written(counted);
		if (!cluster.leads("sweep")) return;
		for (const step of STEPS) {
			const before = now() - METRICS_KEPT_MS[step] - step;
			while ((await store.metrics.expire({ step, before, limit: MAX_ROWS })) === MAX_ROWS);
		}
	}

	/** `known`: steps in which one of `names`, or this server, has counts. */
	async #bucketsOf({ endpoint, step, ...asked }: HistoryQuery, names: readonly string[]) {
		const { store, now, run } = this.#d;
		const present = now();
		this.#counters.turn();
		const from = beginning(Math.max(asked.from, present - METRICS_KEPT_MS[step]), step);
		const to = Math.ceil(Math.min(asked.to, present + 1) / step) * step;
		// Before the read: what is written meanwhile is in the rows too, and skipped there.
		const held = this.#counters.held(step).filter(({ at }) => at >= from && at < to);
		const rows = await store.metrics.read({ endpoints: names, step, from, to });
		const heldAt = new Set(held.map(({ at }) => at));
		const stored = rows.filter((row) => row.endpoint !== SERVER && !(row.source === run && heldAt.has(row.at)));
		const buckets: DatedBucket[] = stored.map(({ at, tally }) => ({ at, bucket: readMetricBucket(tally) }));
		for (const { at, tallies } of held) {
			const bucket = tallies.get(endpoint);
			if (bucket) buckets.push({ at, bucket });
		}
		return { from, to, buckets, known: new Set([...heldAt, ...rows.map(({ at }) => at)]) };
	}
}
