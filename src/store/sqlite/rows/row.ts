/**
 * The two records that this thread keeps in memory: a job's row and the queue of its endpoint. They
 * name each other. And which places of a queue were purged.
 */
import type { RotatingMap } from "../../../core/rotating-map.ts";
import type { Counts } from "../../../core/job-transitions.ts";
import type { JobRow } from "../../row.ts";
import { WAITING } from "../../states.ts";

/** A row; never changed in place (R1). */
export interface Row extends JobRow {
	readonly seq: number;
	readonly queue: Queue;
}

/** One endpoint that ever had a job. */
export interface Queue {
	readonly number: number;
	readonly endpoint: string;
	readonly counts: Counts;
	/** Waiting jobs of low priority, part of `counts.inQueue` (D20). */
	lowInQueue: number;
	/** Counts changed in this transaction and are not written yet. */
	changed: boolean;
	/** Waiting jobs at these places were purged, though their rows are still there (D11). */
	purged: Ranks;
	/** How many jobs joined at the front so far (R7). */
	fronts: number;
	/** Waiting jobs that are not in the file yet (R3), by `seq`; those of low priority apart. */
	readonly unwritten: readonly [RotatingMap<number, Row>, RotatingMap<number, Row>];
}

/** Places in a queue from one to another, both included. */
export interface Ranks {
	readonly from: number;
	readonly to: number;
}

/** No place at all. */
export const NO_RANKS: Ranks = { from: 1, to: 0 };

/** Before and after all places. */
export const FIRST = Number.MIN_SAFE_INTEGER;
export const LAST = Number.MAX_SAFE_INTEGER;

/** Whether the job waited when its queue was purged: nothing of it may be seen any more. */
export function isPurged({ job, queue: { purged }, rank }: Row): boolean {
	return rank <= purged.to && rank >= purged.from && job.state === WAITING;
}

/**
 * The stretches of a queue that hold no purged job, as places between which they lie, neither
 * included.
 */
export function unpurged({ purged: { from, to } }: Queue): { after: number; before: number }[] {
	return from > to
		? [{ after: FIRST, before: LAST }]
		: [
				{ after: FIRST, before: from },
				{ after: to, before: LAST },
			];
}
