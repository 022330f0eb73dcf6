/** The delay of the event loop, for `/metrics` (D40). */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../../kernel/system/clock.ts";

/** Interval of samples, ms. */
const SAMPLE_MS = 20;

/** What is measured is given up only after this, ms: several readers do not take it from each other. */
const WINDOW_MS = 60_000;

/** Seconds; the delay of a sample includes the interval. */
const excess = (ns: number): number => Math.max(0, Math.round(ns / 1000) - SAMPLE_MS * 1000) / 1e6;

/** Returns a function that reads delays of the last one to two minutes, or since the reading before these, s. */
export function eventLoopDelay(clock: Clock): () => { p50: number; p99: number; max: number } | undefined {
	const monitor = () => {
		const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
		delays.enable();
		return { delays, since: clock.now() };
	};
	let [shown, next] = [monitor(), monitor()];
	return () => {
		if (clock.now() - next.since >= WINDOW_MS) {
			shown.delays.disable();
			[shown, next] = [next, monitor()];
		}
		const { delays } = shown;
		const { count, max } = delays;
		if (count === 0) return undefined;
		return { p50: excess(delays.percentile(50)), p99: excess(delays.percentile(99)), max: excess(max) };
	};
}
