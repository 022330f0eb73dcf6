/**
 * Jobs that ended in the last half hour, by minute, on all servers: for the live feed. In memory;
 * the time before the start of this server is read from the store.
 */
import { MINUTE_MS, type Outcome, OUTCOME_OF, OUTCOMES, readMetricBucket } from "../../core/metrics/metric-buckets.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import type { MetricsStore } from "../../store/contract/metrics.ts";
import { beginning } from "./metric-counters.ts";

/** Including the current one. */
const MINUTES = 30;

type Ended = Record<Outcome, number>;

export interface RollingWindowView {
	/** About the last 60 s: the current minute and the matching part of the last one. */
	perMinute: Ended;
	/** Jobs ended in each of the last 30 minutes, the current one last. */
	spark: number[];
}

export interface RollingWindow {
	/** Reads, once, the time before the start. Throws as the store does. */
	load(): Promise<void>;
	of(endpoint: string): RollingWindowView;
}

interface Minute {
	at: number;
	ended: Ended;
}

const none = (): Ended => ({ completed: 0, failed: 0, timedOut: 0, cancelled: 0 });
const sumOf = (ended: Ended): number => OUTCOMES.reduce((sum, outcome) => sum + ended[outcome], 0);

export function rollingWindow({
	events,
	now,
	store,
}: {
	events: EventBus;
	now: () => EpochMs;
	store: MetricsStore;
}): RollingWindow {
	/** Counts by endpoint, each minute at its place in a ring. */
	const counted = new Map<string, Minute[]>();
	/** Before the start, by endpoint and minute; undefined until it was read. */
	let before: Map<string, Map<number, number>> | undefined;
	let startedIn: number | undefined;

	const placeOf = (at: number): number => (at / MINUTE_MS) % MINUTES;

	events.on("job.settled", ({ endpoint, state }) => {
		const outcome = OUTCOME_OF[state];
		if (!outcome) return;
		const at = beginning(now(), MINUTE_MS);
		startedIn ??= at;
		const ring = counted.get(endpoint) ?? [];
		counted.set(endpoint, ring);
		const place = placeOf(at);
		if (ring[place]?.at !== at) ring[place] = { at, ended: none() };
		ring[place]!.ended[outcome] += 1;
	});
	events.on("endpoint.removed", ({ endpoint }) => {
		counted.delete(endpoint);
		before?.delete(endpoint);
	});

	function at(endpoint: string, minute: number): Ended | undefined {
		const found = counted.get(endpoint)?.[placeOf(minute)];
		return found?.at === minute ? found.ended : undefined;
	}

	return {
		async load() {
			if (before) return;
			const present = beginning(now(), MINUTE_MS);
			const until = (startedIn ??= present);
			const rows = await store.read({
				step: MINUTE_MS,
				from: present - (MINUTES - 1) * MINUTE_MS,
				to: until + MINUTE_MS,
			});
			const found = new Map<string, Map<number, number>>();
			for (const { endpoint, at: minute, tally } of rows) {
				const minutes = found.get(endpoint) ?? new Map<number, number>();
				found.set(endpoint, minutes.set(minute, (minutes.get(minute) ?? 0) + sumOf(readMetricBucket(tally).counts)));
			}
			before = found;
		},
		of(endpoint) {
			const present = now();
			const minute = beginning(present, MINUTE_MS);
			const spark = Array.from({ length: MINUTES }, (_, index) => {
				const each = minute - (MINUTES - 1 - index) * MINUTE_MS;
				const live = at(endpoint, each);
				// Of the minute of the start both have a part, perhaps the same.
				return Math.max(live ? sumOf(live) : 0, before?.get(endpoint)?.get(each) ?? 0);
			});
			const [last, current] = [at(endpoint, minute - MINUTE_MS) ?? none(), at(endpoint, minute) ?? none()];
			const part = 1 - (present - minute) / MINUTE_MS;
			const perMinute = Object.fromEntries(
				OUTCOMES.map((outcome) => [outcome, current[outcome] + Math.round(last[outcome] * part)]),
			) as Ended;
			return { perMinute, spark };
		},
	};
}
