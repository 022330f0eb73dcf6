/** The only place that reads the time or sets a timer. Everything else receives a `Clock`. */
import type { LocalMs } from "./core/time.ts";

/** This machine's clock and timer; tests pass a manual one. All values in ms. */
export interface Clock {
	/** Ms since the epoch by this machine. What is stored or compared with rows needs the job clock. */
	now(): LocalMs;
	/** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay of a Node timer, ms; longer sleeps are cut to it, callers check again. */
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
