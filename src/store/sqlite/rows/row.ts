/** The records kept in memory, a job's row and its endpoint's queue, and the purged intervals. */
import type { RotatingMap } from "../../../core/rotating-map.ts";
import type { Counts } from "../../../core/job-transitions.ts";
import type { JobRow } from "../../row.ts";
import { WAITING } from "../../states.ts";

/** A row; never changed in place (R1). */
export interface Row extends JobRow {
	readonly seq: number;
	readonly queue: Queue;
}

/** The queue of an endpoint that ever had a job. */
export interface Queue {
	readonly number: number;
	readonly endpoint: string;
	readonly counts: Counts;
	/** Waiting jobs of low priority, part of `counts.inQueue` (D20). */
	lowInQueue: number;
	/** Inputs, results and chunks of its jobs (D43). */
	storedBytes: number;
	/** Counts have unwritten changes of this transaction. */
	changed: boolean;
	/** Ranks whose waiting jobs were purged; their rows may still be stored (D11). */
	purged: Ranks;
	/** How many jobs have joined at the front (R7). */
	fronts: number;
	/** Unwritten waiting jobs (R3) by `seq`: normal and low priority. */
	readonly unwritten: readonly [RotatingMap<number, Row>, RotatingMap<number, Row>];
}

/** An interval of ranks, both ends included. */
export interface Ranks {
	readonly from: number;
	readonly to: number;
}

/** The empty interval. */
export const NO_RANKS: Ranks = { from: 1, to: 0 };

/** Below and above all ranks. */
export const FIRST = Number.MIN_SAFE_INTEGER;
export const LAST = Number.MAX_SAFE_INTEGER;

/** Whether the job waited when its queue was purged. It must be missing to every reader. */
export function isPurged({ job, queue: { purged }, rank }: Row): boolean {
	return rank <= purged.to && rank >= purged.from && job.state === WAITING;
}

/** The intervals without purged jobs, bounds excluded. */
export function unpurged({ purged: { from, to } }: Queue): { after: number; before: number }[] {
	return from > to
		? [{ after: FIRST, before: LAST }]
		: [
				{ after: FIRST, before: from },
				{ after: to, before: LAST },
			];
}
