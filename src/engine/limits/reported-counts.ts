/** What a server reports to the others of the requests that it admitted (D24). */
import type { CountRow } from "../../store/contract/limits.ts";
import { WINDOW_MS } from "../../core/rate-window.ts";

/** A server that has not reported for this time has nothing in flight for the others, ms. */
const SILENT_MS = 3500;

/** Requests within this time are reported at the moment of the first of them, ms. */
const STEP_MS = 100;

/** Moments and the number of requests admitted at each, the oldest first. */
export type Moments = readonly (readonly [at: number, requests: number])[];

/** What one server has of one budget. */
export interface OwnCounts {
	running: number;
	admitted(now: number): Moments;
}

/** What one or several servers have reported about one budget. */
export interface Counts {
	running: number;
	admitted: Moments;
	/** The earliest report of running requests, ms since the epoch; Infinity when none run. */
	runningAt: number;
}

/** A report has for each budget the running requests, then age in ms and number of requests for each step. */
type Report = Record<string, number[]>;

/** Returns the JSON text of a report that is made now. */
export function reportOf(budgets: ReadonlyMap<string, OwnCounts>, now: number): string {
	const report: Report = {};
	for (const [key, budget] of budgets) {
		const numbers = [budget.running];
		let stepEnds = -Infinity;
		for (const [at, requests] of budget.admitted(now)) {
			if (at < stepEnds) numbers[numbers.length - 1]! += requests;
			else {
				numbers.push(now - at, requests);
				stepEnds = at + STEP_MS;
			}
		}
		if (budget.running > 0 || numbers.length > 1) report[key] = numbers;
	}
	return JSON.stringify(report);
}

/**
 * Returns what these servers admitted together, by budget. What `server` had in flight before its
 * start has ended with it.
 */
export function sumOf(rows: readonly CountRow[], { server, now }: { server: string; now: number }) {
	const sums = new Map<string, { admitted: [number, number][]; running: number; runningAt: number }>();
	for (const row of rows) {
		// A clock that was far ahead.
		if (row.at > now + WINDOW_MS) continue;
		const isActive = row.server !== server && row.at > now - SILENT_MS;
		for (const [key, [running = 0, ...steps]] of Object.entries(JSON.parse(row.counts) as Report)) {
			let sum = sums.get(key);
			if (!sum) sums.set(key, (sum = { admitted: [], running: 0, runningAt: Infinity }));
			if (isActive && running > 0) {
				sum.running += running;
				sum.runningAt = Math.min(sum.runningAt, row.at);
			}
			for (let index = 0; index < steps.length; index += 2)
				sum.admitted.push([Math.min(row.at - steps[index]!, now), steps[index + 1]!]);
		}
	}
	return sums as ReadonlyMap<string, Counts>;
}
