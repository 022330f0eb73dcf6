/**
 * The time for everything that is stored. It never jumps: neither when the time of day is set nor
 * for a time in which the service did not run (D16, decision 0030).
 */
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EventBus } from "../../events.ts";
import type { Service } from "../../service.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Calendar } from "./calendar.ts";

export interface JobClock {
	/** Reading it changes nothing. */
	now(): EpochMs;
	calendar: Calendar;
	/** Records the time; returns how long the machine was suspended since the last call, ms. */
	observe(): number;
	/**
	 * Resolves when `now` is the present, after a time in which this server did not run. Throws
	 * `StoreUnavailable` when that cannot be known soon.
	 */
	settled(): Promise<void>;
	/** Must be done before the first `now`. Throws when the time cannot be known. */
	prepare(): Promise<void>;
	/** Why the time is unreliable, as the end of a sentence; undefined when it is reliable. */
	fault(): string | undefined;
	services: readonly Service[];
}

export interface JobClockDeps {
	clock: Clock;
	events: EventBus;
	/** Not behind the gate: the gate needs the time. */
	store: Pick<Store, "time" | "cluster">;
	/** Identity of this server where several share the store. */
	server: string | undefined;
	pauseMs: number;
}

/**
 * A gap between two observations that counts as a suspension, ms. Less than the shortest lease
 * (2000) minus its ping interval (1000): a pause that delays such a ping beyond its lease is noticed.
 */
export const SUSPEND_MS = 900;

/**
 * A longer gap is left out of the job clock, ms. Shorter than every deadline of a job; long enough
 * that a busy server's time still passes.
 */
export const PAUSE_MS = 5000;

/** Time between two records of the time, ms: what a restart with a wrong time of day may repeat. */
export const SEEN_MS = 60_000;
