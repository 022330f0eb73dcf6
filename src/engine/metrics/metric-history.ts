/**
 * Metrics of endpoints over time (D40): counters are written once a minute; minutes are kept for a
 * day, hours for 30 days. A crash loses the counts since the last full minute. Each server writes
 * its own rows; reads add them up.
 */
import type { EpochMs } from "../../core/time.ts";
import { type Histogram, newHistogram, observe } from "../../core/metrics/histogram.ts";
import { type DatedBucket, type Series, seriesOf } from "../../core/metrics/series.ts";
import {
	addMetricBucket,
	isEmpty,
	type MetricBucket,
	metricBucketText,
	METRICS_KEPT_MS,
	MINUTE_MS,
	newMetricBucket,
	readMetricBucket,
	type StepMs,
	STEPS,
} from "../../core/metrics/metric-buckets.ts";
import { loop, type Service } from "../../service.ts";
import type { MetricsRow } from "../../store/contract/metrics.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { EndpointSnapshot } from "./endpoint-snapshots.ts";
import { beginning, type CountedEndpoint, metricCounters } from "./metric-counters.ts";

/** Time between two samples of queue lengths and worker counts, ms. */
const SAMPLE_MS = 5000;

/** Rows written or removed in one step: other operations get their turn in between. */
const MAX_ROWS = 500;

/** Endpoint of the rows that only show that the server was running. */
const SERVER = "";

export interface History {
	step: StepMs;
	/** Beginning of the first step. */
	from: EpochMs;
	series: Series;
}

interface HistoryQuery {
	endpoint: string;
	step: StepMs;
	from: EpochMs;
	to: EpochMs;
}

export interface MetricHistory {
	service: Service;
	/** The steps of an endpoint from that of `from` until before `to`, as far as they are kept. */
	history(q: HistoryQuery): Promise<History>;
	/** The sum of those steps. */
	total(q: HistoryQuery): Promise<MetricBucket>;
	/** Counts of this server since its start, by endpoint. */
	totals(): ReadonlyMap<string, MetricBucket>;
	/** How long the store took, ms, for reading all counts and for writing counters. */
	readonly storeMs: Readonly<Record<"read" | "write", Histogram>>;
}

interface Deps extends Pick<EngineContext, "clock" | "now" | "events"> {
	store: Pick<EngineContext["store"], "metrics">;
	/** Random, of each start of this server its own. */
	run: string;
	endpoints: Pick<Endpoints, "has">;
	/** One of several servers samples for all. */
	cluster: Pick<Cluster, "leads">;
	snapshots: () => Promise<EndpointSnapshot[]>;
}

export function metricHistory(d: Deps): MetricHistory {
	const store = d.store.metrics;
	const counters = metricCounters(d);
	const storeMs = { read: newHistogram(), write: newHistogram() };

	async function timed<T>(histogram: Histogram, work: Promise<T>): Promise<T> {
		const began = d.clock.now();
		const result = await work;
		observe(histogram, Math.max(0, d.clock.now() - began));
		return result;
	}

	async function sample(): Promise<void> {
		for (const { endpoint, jobs, workers } of await timed(storeMs.read, d.snapshots())) {
			const values = {
				queued: jobs.inQueue,
				running: jobs.inProgress,
				workersReady: workers.ready,
				workersBusy: workers.running,
				workersStarting: workers.initializing,
			};
			// An idle endpoint needs no bucket.
			if (Object.values(values).every((value) => value === 0)) continue;
			const { most } = counters.of(endpoint.id);
			for (const name of Object.keys(values) as (keyof typeof values)[])
				most[name] = Math.max(most[name], values[name]);
		}
	}

	function rowsOf({ step, at, tallies: counted }: CountedEndpoint): MetricsRow[] {
		const row = { step, at, source: d.run };
		// Rows of a deleted endpoint must not be written again.
		const kept = [...counted].filter(([endpoint, tally]) => d.endpoints.has(endpoint) && !isEmpty(tally));
		return [
			{ ...row, endpoint: SERVER, tally: "[]" },
			...kept.map(([endpoint, tally]) => ({ ...row, endpoint, tally: metricBucketText(tally) })),
		];
	}

	async function write(): Promise<void> {
		const counted = counters.unwritten();
		if (counted.length === 0) return;
		const rows = counted.flatMap(rowsOf);
		for (let at = 0; at < rows.length; at += MAX_ROWS)
			await timed(storeMs.write, store.put({ rows: rows.slice(at, at + MAX_ROWS) }));
		counters.written(counted);
		if (!d.cluster.leads("sweep")) return;
		for (const step of STEPS) {
			const before = d.now() - METRICS_KEPT_MS[step] - step;
			while ((await store.expire({ step, before, limit: MAX_ROWS })) === MAX_ROWS);
		}
	}

	/** The rows of `names`; `known`: steps in which one of them, or this server, has counts. */
	async function bucketsOf(
		{ endpoint, step, ...asked }: HistoryQuery,
		names: readonly string[],
	): Promise<{
		from: number;
		to: number;
		buckets: readonly DatedBucket[];
		known: ReadonlySet<number>;
	}> {
		const now = d.now();
		counters.turn();
		const from = beginning(Math.max(asked.from, now - METRICS_KEPT_MS[step]), step);
		const to = Math.ceil(Math.min(asked.to, now + 1) / step) * step;
		// Before the read: what is written meanwhile is in the rows too, and skipped there.
		const held = counters.held(step).filter(({ at }) => at >= from && at < to);
		const rows = await store.read({ endpoints: names, step, from, to });
		const heldAt = new Set(held.map(({ at }) => at));
		const stored = rows.filter((row) => row.endpoint !== SERVER && !(row.source === d.run && heldAt.has(row.at)));
		return {
			from,
			to,
			buckets: [
				...stored.map(({ at, tally }) => ({ at, bucket: readMetricBucket(tally) })),
				...held.flatMap(({ at, tallies: counted }) =>
					counted.has(endpoint) ? [{ at, bucket: counted.get(endpoint)! }] : [],
				),
			],
			known: new Set([...heldAt, ...rows.map(({ at }) => at)]),
		};
	}

	const writer = loop({
		clock: d.clock,
		retryMs: SAMPLE_MS,
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable)) d.events.emit("fault", { where: "writing metrics", error });
		},
		step: async () => {
			counters.turn();
			await write();
			if (d.cluster.leads("sweep")) await sample();
			const now = d.now();
			return Math.min(SAMPLE_MS, Math.max(1, beginning(now, MINUTE_MS) + MINUTE_MS - now));
		},
	});

	return {
		storeMs,
		totals: counters.totals,
		service: {
			start: writer.start,
			async stop() {
				await writer.stop();
				counters.end();
				await write().catch(() => {});
			},
		},
		async history(q) {
			const { from, to, buckets, known } = await bucketsOf(q, [SERVER, q.endpoint]);
			return { step: q.step, from, series: seriesOf({ from, to, step: q.step, buckets, known }) };
		},
		async total(q) {
			const sum = newMetricBucket();
			const { buckets } = await bucketsOf(q, [q.endpoint]);
			for (const { bucket } of buckets) addMetricBucket(sum, bucket);
			return sum;
		},
	};
}
