/** What a server counts of its requests and of its event loop, for `/metrics` (D40). */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../../system/clock.ts";

/** Interval of samples, ms. */
const SAMPLE_MS = 20;

/** What is measured is given up only after this, ms: several readers do not take it from each other. */
const WINDOW_MS = 60_000;

/** Seconds; the delay of a sample includes the interval. */
const excess = (ns: number): number => Math.max(0, Math.round(ns / 1000) - SAMPLE_MS * 1000) / 1e6;

export type Traffic = ReturnType<typeof traffic>;

export function traffic(clock: Clock) {
	const monitor = () => {
		const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
		delays.enable();
		return { delays, since: clock.now() };
	};
	let [shown, next] = [monitor(), monitor()];
	/** Requests by operation of the API, and errors by code. */
	const inFlight = new Map<string, number>();
	const refusals = new Map<string, number>();
	const add = (counts: Map<string, number>, name: string, amount: number): void =>
		void counts.set(name, (counts.get(name) ?? 0) + amount);
	return {
		inFlight,
		refusals,
		begun: (operation: string): void => add(inFlight, operation, 1),
		ended: (operation: string): void => add(inFlight, operation, -1),
		refused: (code: string): void => add(refusals, code, 1),
		/** Returns delays of the last one to two minutes, or since the reading before these, s. */
		eventLoopDelay(): { p50: number; p99: number; max: number } | undefined {
			if (clock.now() - next.since >= WINDOW_MS) {
				shown.delays.disable();
				[shown, next] = [next, monitor()];
			}
			const { delays } = shown;
			const { count, max } = delays;
			if (count === 0) return undefined;
			return { p50: excess(delays.percentile(50)), p99: excess(delays.percentile(99)), max: excess(max) };
		},
	};
}
