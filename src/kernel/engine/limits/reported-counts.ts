/** What a server reports to the others of its requests (D24). */
import type { CountRow } from "../../store/contract/cluster.ts";
import { WINDOW_MS } from "../../core/endpoints/rate-window.ts";

/** A server that has not reported for this time has nothing in flight for the others. */
const SILENT_MS = 3500;

/** Requests within this time are reported at the moment of the first of them. */
const STEP_MS = 100;

/** Requests admitted at each moment, the oldest first. */
export type Moments = readonly (readonly [at: number, requests: number])[];

export interface OwnCounts {
	running: number;
	admitted(now: number): Moments;
}

export interface Counts {
	running: number;
	admitted: Moments;
	/** The earliest report, ms since the epoch; Infinity when none run. */
	runningAt: number;
}

/** Each budget has its running requests, then age in ms and number of requests for each step. */
type Report = Record<string, number[]>;

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

/** What `server` had in flight before its start has ended with it. */
export function sumOf(rows: readonly CountRow[], { server, now }: { server: string; now: number }) {
	const sums = new Map<string, { admitted: [number, number][]; running: number; runningAt: number }>();
	for (const row of rows) {
		// Its clock was far ahead.
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
