/** The only place that asks the time or sets a timer. Everything else receives a `Clock`. */

/** Wall clock and timer, passed to whatever waits; tests pass a manual one. All values in ms. */
export interface Clock {
	/** Milliseconds since the epoch. */
	now(): number;
	/** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * The longest delay a Node timer can hold, in ms; longer sleeps are cut to it and callers look
 * again.
 */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. */
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
