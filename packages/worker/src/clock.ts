/** Only this file of the kit uses `Date.now` or timers. All values are in ms. */

export interface Clock {
	/** Monotonic, about since the epoch. */
	now(): number;
	/** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
	now: () => performance.timeOrigin + performance.now(),
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

/** The time of the calendar, ms since 1970, for what others compare with theirs. It may jump. */
export const calendarTime = (): number => Date.now();
