/**
 * Metrics of endpoints over time (D40): what was counted is written once a minute, minutes kept for
 * a day and hours for 30 days. A crash loses what was counted since the last full minute. Each
 * server writes its own rows; who reads adds them up.
 */
import type { Clock } from "../../clock.ts";
import { newHistogram, observe } from "../../core/metrics/histogram.ts";
import type { Histogram } from "../../core/metrics/histogram.ts";
import { seriesOf } from "../../core/metrics/series.ts";
import type { DatedBucket, Series } from "../../core/metrics/series.ts";
import {
	isEmpty,
	MINUTE_MS,
	readMetricBucket,
	STEPS,
	METRICS_KEPT_MS,
	metricBucketText,
} from "../../core/metrics/metric-buckets.ts";
import type { StepMs, MetricBucket } from "../../core/metrics/metric-buckets.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Service } from "../../service.ts";
import type { MetricsRow, MetricsStore } from "../../store/contract/metrics.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EndpointSnapshot } from "../endpoints/endpoint-snapshots.ts";
import type { EndpointRegistry } from "../endpoints/endpoint-registry.ts";
import { beginning, metricCounters } from "./metric-counters.ts";
import type { CountedEndpoint } from "./metric-counters.ts";

/** Time between two looks at what goes up and down, ms. */
const LOOK_MS = 5000;

/** Rows written in one step, and removed: jobs get their turn in between. */
const MOST_ROWS = 500;

/** Stands for the server itself: a row of it tells that the server looked. */
const SERVER = "";

/** A span of the history, as it is told. */
export interface History {
	step: StepMs;
	/** Beginning of the first step, ms since the epoch. */
	from: number;
	series: Series;
}

export interface Metrics {
	loop: Service;
	/**
	 * What is known of an endpoint in the steps that begin from the one of `from` until before `to`,
	 * both ms since the epoch; nothing from before what is kept, nothing of the future.
	 */
	history(q: { endpoint: string; step: StepMs; from: number; to: number }): Promise<History>;
	/** What this server counted since its start, by endpoint. */
	totals(): ReadonlyMap<string, MetricBucket>;
	/** How long the store took, ms, for looks at all counts and for writing what was counted. */
	readonly storeMs: Readonly<Record<"read" | "write", Histogram>>;
}

interface Deps {
	clock: Clock;
	now: () => number;
	events: EventBus;
	store: MetricsStore;
	/** A word of its own for each start of this server. */
	source: string;
	registry: Pick<EndpointRegistry, "has">;
	/** One of several servers looks for all. */
	cluster: Pick<Cluster, "leads">;
	present: () => Promise<EndpointSnapshot[]>;
}

export function metrics(d: Deps): Metrics {
	const counting = metricCounters(d);
	const storeMs = { read: newHistogram(), write: newHistogram() };

	async function timed<T>(histogram: Histogram, work: Promise<T>): Promise<T> {
		const began = d.clock.now();
		const result = await work;
		observe(histogram, Math.max(0, d.clock.now() - began));
		return result;
	}

	async function look(): Promise<void> {
		for (const { endpoint, jobs, workers } of await timed(storeMs.read, d.present())) {
			const seen = {
				queued: jobs.inQueue,
				running: jobs.inProgress,
				workersReady: workers.ready,
				workersBusy: workers.running,
				workersStarting: workers.initializing,
			};
			// An endpoint at rest costs no tally.
			if (Object.values(seen).every((value) => value === 0)) continue;
			const { most } = counting.of(endpoint.id);
			for (const name of Object.keys(seen) as (keyof typeof seen)[])
				most[name] = Math.max(most[name], seen[name]);
		}
	}

	function rowsOf({ step, at, tallies: counted }: CountedEndpoint): MetricsRow[] {
		const row = { step, at, source: d.source };
		// What is left of an endpoint that was deleted must not come back.
		const told = [...counted].filter(
			([endpoint, tally]) => d.registry.has(endpoint) && !isEmpty(tally),
		);
		return [
			{ ...row, endpoint: SERVER, tally: "[]" },
			...told.map(([endpoint, tally]) => ({ ...row, endpoint, tally: metricBucketText(tally) })),
		];
	}

	async function write(): Promise<void> {
		const counted = counting.unwritten();
		if (counted.length === 0) return;
		const rows = counted.flatMap(rowsOf);
		for (let at = 0; at < rows.length; at += MOST_ROWS)
			await timed(storeMs.write, d.store.put({ rows: rows.slice(at, at + MOST_ROWS) }));
		counting.written(counted);
		if (!d.cluster.leads("sweep")) return;
		for (const step of STEPS) {
			const before = d.now() - METRICS_KEPT_MS[step] - step;
			while ((await d.store.expire({ step, before, limit: MOST_ROWS })) === MOST_ROWS);
		}
	}

	const counter = loop({
		clock: d.clock,
		retryMs: LOOK_MS,
		onError: (error) => {
			// Others tell that the store is away.
			if (!(error instanceof StoreUnavailable))
				d.events.emit("fault", { where: "keeping metrics", error });
		},
		step: async () => {
			counting.turn();
			await write();
			if (d.cluster.leads("sweep")) await look();
			const now = d.now();
			return Math.min(LOOK_MS, Math.max(1, beginning(now, MINUTE_MS) + MINUTE_MS - now));
		},
	});

	return {
		storeMs,
		totals: counting.totals,
		loop: {
			start: counter.start,
			async stop() {
				await counter.stop();
				counting.end();
				await write().catch(() => {});
			},
		},
		async history({ endpoint, step, ...asked }) {
			const now = d.now();
			counting.turn();
			const from = beginning(Math.max(asked.from, now - METRICS_KEPT_MS[step]), step);
			const to = Math.ceil(Math.min(asked.to, now + 1) / step) * step;
			// First: what is written meanwhile is in the rows too, and passed over there.
			const held = counting.held(step).filter(({ at }) => at >= from && at < to);
			const rows = await d.store.read({ endpoints: [SERVER, endpoint], step, from, to });
			const here = new Set(held.map(({ at }) => at));
			const stored = rows.filter(
				(row) => row.endpoint !== SERVER && !(row.source === d.source && here.has(row.at)),
			);
			const all: DatedBucket[] = [
				...stored.map(({ at, tally }) => ({ at, bucket: readMetricBucket(tally) })),
				...held.flatMap(({ at, tallies: counted }) =>
					counted.has(endpoint) ? [{ at, bucket: counted.get(endpoint)! }] : [],
				),
			];
			return {
				step,
				from,
				series: seriesOf({
					from,
					to,
					step,
					buckets: all,
					known: new Set([...here, ...rows.map(({ at }) => at)]),
				}),
			};
		},
	};
}
