/**
 * Jobs that ended in the last half hour on all servers, by minute. The time before the start of this server is read
 * from the store.
 */
import {
	MINUTE_MS,
	type Outcome,
	OUTCOME_OF,
	OUTCOMES,
	readMetricBucket,
} from "../../kernel/core/metrics/metric-buckets.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import { beginning } from "../../kernel/engine/metrics/metric-counters.ts";

/** Including the current one. */
const MINUTES = 30;

type Ended = Record<Outcome, number>;

interface Minute {
	at: number;
	ended: Ended;
}

const none = (): Ended => ({ completed: 0, failed: 0, timedOut: 0, cancelled: 0 });
const sumOf = (ended: Ended): number => OUTCOMES.reduce((sum, outcome) => sum + ended[outcome], 0);

export function rollingWindow({ events, now, store }: EngineContext) {
	/** Each minute has its place in a ring. */
	const counted = new Map<string, Minute[]>();
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
		/** Reads the time before the start once. Throws as the store does. */
		async load(): Promise<void> {
			if (before) return;
			const present = beginning(now(), MINUTE_MS);
			const until = (startedIn ??= present);
			const rows = await store.metrics.read({
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
		/**
		 * `perMinute`: about the last 60 s, the current minute and the matching part of the last one; `spark`: jobs ended
		 * in each of the last 30 minutes.
		 */
		of(endpoint: string): { perMinute: Ended; spark: number[] } {
			const present = now();
			const minute = beginning(present, MINUTE_MS);
			const spark = Array.from({ length: MINUTES }, (_, index) => {
				const each = minute - (MINUTES - 1 - index) * MINUTE_MS;
				const live = at(endpoint, each);
				// Both have a part of the minute of the start, perhaps the same.
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
