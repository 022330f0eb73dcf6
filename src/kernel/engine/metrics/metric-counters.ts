/**
 * Counts events of each endpoint in memory: for minutes that are not written yet, their hours, and all time since the
 * start.
 */
import {
	addMetricBucket,
	countOfRelease,
	HOUR_MS,
	type MetricBucket,
	MINUTE_MS,
	newMetricBucket,
	OUTCOME_OF,
	type StepMs,
} from "../../core/metrics/metric-buckets.ts";
import { observe } from "../../lib/histogram.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { EventBus } from "../../events.ts";

type ByEndpoint = Map<string, MetricBucket>;

/** Endpoints without any counts are missing. */
export interface CountedEndpoint {
	step: StepMs;
	at: EpochMs;
	tallies: ReadonlyMap<string, MetricBucket>;
}

/** Maximum number of minutes that wait to be written; further ones are lost. */
const MAX_UNWRITTEN = 120;

export function beginning(at: EpochMs, step: number): EpochMs {
	return Math.floor(at / step) * step;
}

function tallyIn(tallies: ByEndpoint, endpoint: string): MetricBucket {
	const found = tallies.get(endpoint) ?? newMetricBucket();
	tallies.set(endpoint, found);
	return found;
}

function addAll(to: ByEndpoint, from: ReadonlyMap<string, MetricBucket>): void {
	for (const [endpoint, tally] of from) addMetricBucket(tallyIn(to, endpoint), tally);
}

function together(...all: readonly ReadonlyMap<string, MetricBucket>[]): ByEndpoint {
	const sum: ByEndpoint = new Map();
	for (const each of all) addAll(sum, each);
	return sum;
}

export type MetricCounters = ReturnType<typeof metricCounters>;

/** Events that another server announces too are counted there. */
export function metricCounters({ events, now }: { events: EventBus; now: () => EpochMs }) {
	const total: ByEndpoint = new Map();
	let minute: { at: number; tallies: ByEndpoint } = { at: 0, tallies: new Map() };
	let over: CountedEndpoint[] = [];
	const hours = new Map<number, ByEndpoint>();

	function bucketOf(endpoint: string): MetricBucket {
		turn();
		return tallyIn(minute.tallies, endpoint);
	}

	function turn(): void {
		const at = beginning(now(), MINUTE_MS);
		if (minute.at === 0) minute.at = at;
		else if (at > minute.at) close(at);
	}

	function close(at: number): void {
		addAll(total, minute.tallies);
		over = [...over, { step: MINUTE_MS, ...minute } as const].slice(-MAX_UNWRITTEN);
		const hour = beginning(minute.at, HOUR_MS);
		hours.set(hour, together(hours.get(hour) ?? new Map(), minute.tallies));
		minute = { at, tallies: new Map() };
	}

	events.on(
		"job.queued",
		({ endpoint, again }) => void (bucketOf(endpoint).counts[again ? "retried" : "submitted"] += 1),
	);
	events.on("job.started", ({ endpoint, waitedMs }) => observe(bucketOf(endpoint).delay, waitedMs));
	events.on("job.settled", ({ endpoint, state, ranMs, release, elsewhere }) => {
		const outcome = OUTCOME_OF[state];
		if (elsewhere || !outcome) return;
		const tally = bucketOf(endpoint);
		tally.counts[outcome] += 1;
		if (ranMs !== undefined) observe(tally.execution, ranMs);
		if (release !== undefined) countOfRelease(tally, { release, outcome, ranMs });
	});
	events.on("job.returned", ({ endpoint, why }) => {
		if (why === "lost") bucketOf(endpoint).counts.retried += 1;
	});
	events.on("worker.launched", ({ endpoint }) => void (bucketOf(endpoint).counts.coldStarts += 1));

	return {
		of: bucketOf,
		turn,
		end(): void {
			turn();
			close(minute.at);
		},
		/** Returns minutes that are over, and their hours so far. */
		unwritten(): CountedEndpoint[] {
			if (over.length === 0) return [];
			return [...over, ...[...hours].map(([at, each]): CountedEndpoint => ({ step: HOUR_MS, at, tallies: each }))];
		},
		written(counted: readonly CountedEndpoint[]): void {
			over = over.filter((each) => !counted.includes(each));
			for (const { step, at, tallies: each } of counted) {
				// An hour that has grown meanwhile is written again.
				if (step === HOUR_MS && hours.get(at) === each && at < beginning(minute.at, HOUR_MS)) hours.delete(at);
			}
		},
		/** Returns the steps that are not completely written, with the current minute. */
		held(step: StepMs): CountedEndpoint[] {
			if (step === MINUTE_MS) return [...over, { step, ...minute }];
			const present = beginning(minute.at, HOUR_MS);
			const others = [...hours]
				.filter(([at]) => at !== present)
				.map(([at, each]): CountedEndpoint => ({ step, at, tallies: each }));
			return [...others, { step, at: present, tallies: together(hours.get(present) ?? new Map(), minute.tallies) }];
		},
		totals: (): ReadonlyMap<string, MetricBucket> => together(total, minute.tallies),
	};
}
