/** The only place that reads the time or sets a timer. All other code receives a `Clock`. */
import type { LocalMs } from "./core/time.ts";

/** This machine's clock and timer, in ms; tests pass a manual one. */
export interface Clock {
	/** Since the epoch. Stored times and comparisons with rows need the job clock. */
	now(): LocalMs;
	/** Resolves after `ms`, or when the signal aborts. Never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Longest Node timer, ms. Longer sleeps are cut to it; callers check again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
	now: () => Date.now(),
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
