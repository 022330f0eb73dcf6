/** The only place that reads the time or sets a timer. */
import type { LocalMs, WallMs } from "../lib/time.ts";

/** Times are in ms. */
export interface Clock {
	/**
	 * Monotonic, about ms since the epoch. On Linux it stands still while the machine is suspended. Stored times need the
	 * job clock.
	 */
	now(): LocalMs;
	/** Time of day, which may jump in either direction. */
	wall(): WallMs;
	/** Resolves after `ms`, or when the signal aborts. Never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Maximum Node timer, ms. Longer sleeps are cut to it; callers check again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Time of day at which the monotonic clock was 0. */
const origin = Date.now() - performance.now();

export const systemClock: Clock = {
	now: () => Math.floor(origin + performance.now()),
	wall: () => Date.now(),
	sleep: (ms, signal) =>
		new Promise((resolve) => {
			if (signal?.aborted) return resolve();
			const done = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", done);
				resolve();
			};
			const timer = setTimeout(done, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
			signal?.addEventListener("abort", done, { once: true });
		}),
};
