/** The time of clients and workers: this machine's, or a simulated one (`test/simulation`). */
import { setTimeout as timer } from "node:timers/promises";

export interface Time {
	/** Monotonic ms. */
	now(): number;
	/** Resolves after `ms` or when the signal aborts; never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const machineTime: Time = {
	now: () => performance.now(),
	sleep: (ms, signal) => timer(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
};
