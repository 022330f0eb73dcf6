/** Simulates one schedule after another until the first that breaks a rule, which it shrinks. */
import type { Violation } from "../torture/checker/job-history.ts";
import type { Op } from "../torture/history.ts";
import { openSimulatedDatabase, type SimulatedDatabase } from "./database.ts";
import { type Schedule, scheduleOf } from "./schedule.ts";
import type { Plant } from "./server.ts";
import { shrink } from "./shrink.ts";
import { simulate, type Simulated } from "./simulate.ts";

export interface SearchOptions {
	/** Of the first schedule; the next ones count on from it. */
	seed: number;
	/** At most so many. */
	schedules?: number;
	/** At most so long, ms. */
	ms?: number;
	/** Made for each server's start. */
	plant?: () => Plant;
	/** Tries of the shrinking; 0 leaves it out. */
	tries?: number;
	progress?: (found: Found) => void;
}

export interface Found {
	schedules: number;
	/** Together. */
	acknowledged: number;
	operations: number;
	events: number;
	simulatedMs: number;
	restarts: number;
	faults: Record<string, number>;
	/** See `Simulated`. */
	happened: Record<string, number>;
	failure?: {
		seed: number;
		violations: readonly Violation[];
		shrunk: Schedule;
		/** Of the shrunk schedule. */
		history: readonly Op[];
		shrunkViolations: readonly Violation[];
	};
}

/** Runs `work` outside of all promises, which a simulation needs. */
function inTurn<T>(work: () => T): Promise<T> {
	return new Promise((resolve, reject) => {
		setImmediate(() => {
			try {
				resolve(work());
			} catch (error) {
				reject(error as Error);
			}
		});
	});
}

/** What one schedule does, with its history. */
export function runOnce(
	database: SimulatedDatabase,
	schedule: Schedule,
	plant: () => Plant = () => ({}),
): Promise<Simulated & { history: Op[] }> {
	const history: Op[] = [];
	return inTurn(() => ({
		...simulate(schedule, { database, plant: plant(), record: (op) => history.push(op) }),
		history,
	}));
}

export async function search(o: SearchOptions): Promise<Found> {
	const { seed, schedules = Infinity, ms = Infinity, plant = () => ({}), tries } = o;
	const database = await openSimulatedDatabase();
	const began = performance.now();
	const found: Found = {
		schedules: 0,
		acknowledged: 0,
		operations: 0,
		events: 0,
		simulatedMs: 0,
		restarts: 0,
		faults: {},
		happened: {},
	};
	try {
		while (found.schedules < schedules && performance.now() - began < ms) {
			const schedule = scheduleOf(seed + found.schedules);
			const result = await inTurn(() => simulate(schedule, { database, plant: plant() }));
			found.schedules += 1;
			found.acknowledged += result.acknowledged;
			found.operations += result.operations;
			found.events += result.events;
			found.simulatedMs += result.ms;
			found.restarts += result.restarts;
			for (const { kind } of schedule.faults) found.faults[kind] = (found.faults[kind] ?? 0) + 1;
			for (const [what, times] of Object.entries(result.happened))
				found.happened[what] = (found.happened[what] ?? 0) + times;
			o.progress?.(found);
			if (result.violations.length === 0) continue;
			const { violations } = result;
			const rules = new Set(violations.map(({ rule }) => rule));
			const fails = (smaller: Schedule): boolean =>
				simulate(smaller, { database, plant: plant() }).violations.some(({ rule }) => rules.has(rule));
			const shrunk = await inTurn(() => shrink(schedule, fails, tries));
			const { history, violations: shrunkViolations } = await runOnce(database, shrunk, plant);
			found.failure = { seed: schedule.seed, violations, shrunk, history, shrunkViolations };
			break;
		}
		return found;
	} finally {
		database.close();
	}
}
