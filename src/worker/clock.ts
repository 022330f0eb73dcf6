/**
 * The worker kit's own clock: the only file under `src/worker` that asks the time or sets a timer.
 */

/** Wall clock and timer. All values in ms. */
export interface Clock {
	/** Milliseconds since the epoch. */
	now(): number;
	/** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

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
			const timer = setTimeout(done, Math.max(0, ms));
			signal?.addEventListener("abort", done, { once: true });
		}),
};
