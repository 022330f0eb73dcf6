/**
 * How far this machine's clock is from the database's, by which all servers that share it go (D16,
 * D24).
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import { StoreUnavailable } from "../../store/store.ts";

/** Time between two measures, ms, and between two while the present is in doubt. */
const MEASURE_MS = 2000;
const AGAIN_MS = 200;

/** A measure may err by half its round trip: one that may err by more tells nothing, ms. */
const ERROR_MS = 500;

/** Two measures that differ by more do not agree, ms. */
const JUMP_MS = 1000;

/** Without a measure for so long the present is not to be relied on, ms. */
const STALE_MS = 30_000;

/** Of so many measures the one with the shortest round trip counts. */
const MEASURES = 8;

/** Tries at the start. */
const TRIES = 10;

const FAULT = "cannot tell the time, because its clock cannot be compared with the database's";

/** A measure: the offset found, and by how much it may err, ms. */
interface Measure {
	offset: number;
	error: number;
}

/** The present by the database's clock. */
export interface ClockOffset {
	/**
	 * The present, ms since the epoch; never before `last` by a mere correction. `last` itself while
	 * the present is in doubt: a clock that stands lets nothing lapse.
	 */
	now(last: number): number;
	/**
	 * Measures until the present is known. Throws as `databaseClock` does, and an Error for the
	 * operator after some tries.
	 */
	measure(): Promise<void>;
	/** Why the present is not to be relied on, as the end of a sentence; undefined when it is. */
	fault(): string | undefined;
	loop: Loop;
}

/**
 * A step of this machine's clock of over `awayMs` between two looks (set, or the machine was
 * suspended) puts the present in doubt until the next measure.
 */
export function clockOffset({
	clock,
	databaseClock,
	awayMs,
	events,
}: {
	clock: Clock;
	databaseClock: () => Promise<number>;
	awayMs: number;
	events: EventBus;
}): ClockOffset {
	let measures: Measure[] = [];
	let offset = 0;
	let doubt = true;
	/** While in doubt after measures that did not agree: what the last one found. */
	let candidate: number | undefined;
	let seen = clock.now();
	let measuredAt = seen;

	async function measureOnce(): Promise<void> {
		const sent = clock.now();
		const told = await databaseClock();
		const got = clock.now();
		const error = (got - sent) / 2;
		if (error < 0 || error > ERROR_MS) return;
		take({ offset: told - (sent + got) / 2, error });
	}

	function take(found: Measure): void {
		const known = doubt ? candidate : offset;
		if (known !== undefined && Math.abs(found.offset - known) > JUMP_MS) {
			doubt = true;
			candidate = found.offset;
			return;
		}
		measures = doubt ? [found] : [...measures, found].slice(-MEASURES);
		offset = measures.reduce((best, each) => (each.error < best.error ? each : best)).offset;
		doubt = false;
		candidate = undefined;
		measuredAt = clock.now();
	}

	const measuring = loop({
		clock,
		retryMs: MEASURE_MS,
		onError: (error) => {
			// Others tell that the store is away.
			if (!(error instanceof StoreUnavailable))
				events.emit("fault", { where: "measuring the clock", error });
		},
		step: async () => {
			await measureOnce();
			return doubt ? AGAIN_MS : MEASURE_MS;
		},
	});

	return {
		now(last) {
			const raw = clock.now();
			if (Math.abs(raw - seen) > awayMs && !doubt) {
				doubt = true;
				measuring.nudge();
			}
			seen = raw;
			if (doubt) return last;
			const present = Math.round(raw + offset);
			return present < last && last - present <= awayMs ? last : present;
		},
		async measure() {
			for (let tried = 0; doubt && tried < TRIES; tried += 1) await measureOnce();
			if (doubt)
				throw new Error(
					`This server ${FAULT}: the way there takes over ${2 * ERROR_MS} ms, or one of the clocks jumps. Set both by NTP.`,
				);
		},
		fault: () => (doubt || clock.now() - measuredAt > STALE_MS ? FAULT : undefined),
		loop: measuring,
	};
}
