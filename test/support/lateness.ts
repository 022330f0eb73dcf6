/** How much later than due a process does things because it computes or the machine runs others. */
import { monitorEventLoopDelay } from "node:perf_hooks";

const STEP_MS = 10;

/** What a bound of time must allow for beside the waits that the product chose. */
export interface Lateness {
	/** In all, ms: what is waited for one after another is later by at most this. */
	total: number;
	/** In one turn of the event loop at most, ms. */
	longest: number;
}

/** Measures until the returned function is called. */
export function lateness(): () => Lateness {
	const delay = monitorEventLoopDelay({ resolution: STEP_MS });
	const began = performance.now();
	delay.enable();
	return () => {
		delay.disable();
		const ms = performance.now() - began;
		return {
			total: Math.max(0, ms - delay.count * STEP_MS),
			longest: Math.max(0, delay.max / 1e6 - STEP_MS),
		};
	};
}
