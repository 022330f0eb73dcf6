/**
 * The job clock where several servers share a database: this machine's clock plus a measured offset
 * to the database's (D16, D24).
 */
import type { Clock } from "../../clock.ts";
import type { EpochMs, LocalMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Service } from "../../service.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";

/**
 * A gap that counts as a suspension, ms. Less than the shortest lease (2000) minus its ping interval
 * (1000): a pause that delays such a ping beyond its lease is noticed.
 */
export const SUSPEND_MS = 900;

/** Time between two measurements, ms, and between two while the offset is unknown. */
const MEASURE_MS = 2000;
const REMEASURE_MS = 200;

/** A measurement may err by half its round trip, ms; one that may err by more is discarded. */
const MAX_ERROR_MS = 500;

/** Two measurements that differ by more contradict each other, ms. */
const JUMP_MS = 1000;

/** Without a measurement for so long the time is unreliable, ms. */
const STALE_MS = 30_000;

/** Of so many measurements the one with the shortest round trip counts. */
const KEPT_MEASUREMENTS = 8;

/** Measurements at the start before it fails. */
const START_ATTEMPTS = 10;

const FAULT =
	"does not know the common time, because its clock cannot be compared with the database's";

interface Measurement {
	offset: number;
	/** By how much the offset may be wrong, ms. */
	error: number;
}

export interface ClockOffset {
	/**
	 * Never before the last observation by a mere correction. While the offset is unknown it stands
	 * at the last observation: a clock that stands lets no lease end.
	 */
	now(): EpochMs;
	/**
	 * Records the time. A step of this machine's clock of more than {@link SUSPEND_MS} since the last
	 * observation (set by hand, or the machine was suspended) makes the offset unknown.
	 */
	observe(): void;
	/** Measures until the offset is known. Throws as `databaseClock` does, and after some attempts. */
	measure(): Promise<void>;
	/** Why the time is unreliable, as the end of a sentence; undefined when it is reliable. */
	fault(): string | undefined;
	service: Service;
}

export function clockOffset({
	clock,
	databaseClock,
	events,
}: {
	clock: Clock;
	databaseClock: () => Promise<number>;
	events: EventBus;
}): ClockOffset {
	let measurements: Measurement[] = [];
	let offset = 0;
	let known = false;
	/** While the offset is unknown after contradicting measurements: the last one. */
	let candidate: number | undefined;
	let observedLocal: LocalMs = clock.now();
	let observed: EpochMs = -Infinity;
	let measuredAt: LocalMs = observedLocal;

	const stepped = (): boolean => Math.abs(clock.now() - observedLocal) > SUSPEND_MS;

	function now(): EpochMs {
		if (!known || stepped()) return observed;
		const time = Math.round(clock.now() + offset);
		return time < observed && observed - time <= SUSPEND_MS ? observed : time;
	}

	function observe(): void {
		if (known && stepped()) {
			known = false;
			measuring.nudge();
		}
		observed = now();
		observedLocal = clock.now();
	}

	async function measureOnce(): Promise<void> {
		const sent = clock.now();
		const time = await databaseClock();
		const received = clock.now();
		const error = (received - sent) / 2;
		if (error < 0 || error > MAX_ERROR_MS) return;
		apply({ offset: time - (sent + received) / 2, error });
	}

	function apply(measurement: Measurement): void {
		observe();
		const expected = known ? offset : candidate;
		if (expected !== undefined && Math.abs(measurement.offset - expected) > JUMP_MS) {
			known = false;
			candidate = measurement.offset;
			return;
		}
		measurements = known ? [...measurements, measurement].slice(-KEPT_MEASUREMENTS) : [measurement];
		offset = measurements.reduce((best, each) => (each.error < best.error ? each : best)).offset;
		known = true;
		candidate = undefined;
		measuredAt = clock.now();
	}

	const measuring = loop({
		clock,
		retryMs: MEASURE_MS,
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable))
				events.emit("fault", { where: "measuring the clock", error });
		},
		step: async () => {
			await measureOnce();
			return known ? MEASURE_MS : REMEASURE_MS;
		},
	});

	return {
		now,
		observe,
		async measure() {
			for (let attempt = 0; !known && attempt < START_ATTEMPTS; attempt += 1) await measureOnce();
			if (known) return;
			throw new Error(
				`This server ${FAULT}: a round trip takes over ${2 * MAX_ERROR_MS} ms, or one of ` +
					"the clocks jumps. Synchronize both by NTP.",
			);
		},
		fault: () => (!known || stepped() || clock.now() - measuredAt > STALE_MS ? FAULT : undefined),
		service: measuring,
	};
}
