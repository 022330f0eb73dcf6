import type { RotatingMap } from "../../../lib/rotating-map.ts";
import type { Counts } from "../../../core/jobs/job-transitions.ts";
import { type JobRow, WAITING } from "../../row.ts";

/** Never changed in place (R1). */
export interface Row extends JobRow {
	readonly seq: number;
	readonly queue: Queue;
}

export type Numbered = Pick<Row, "seq">;

export interface Queue {
	readonly number: number;
	readonly endpoint: string;
	readonly counts: Counts;
	/** Part of `counts.inQueue` (D20). */
	lowInQueue: number;
	/** Bytes (D43). */
	storedBytes: number;
	/** Unwritten changes of this transaction. */
	changed: boolean;
	/** Ranks whose waiting jobs were purged; their rows may still be stored (D11). */
	purged: Ranks;
	/** How many jobs have joined at the front (R7). */
	fronts: number;
	/** Waiting jobs (R3) by `seq`: normal and low priority. */
	readonly unwritten: readonly [RotatingMap<number, Row>, RotatingMap<number, Row>];
}

export interface Ranks {
	readonly from: number;
	readonly to: number;
}

export const NO_COUNTS: Readonly<Counts> = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };

export const NO_RANKS: Ranks = { from: 1, to: 0 };

export const FIRST = Number.MIN_SAFE_INTEGER;
export const LAST = Number.MAX_SAFE_INTEGER;

/** Whether the job waited when its queue was purged: it must be missing to every reader. */
export function isPurged({ job, queue: { purged }, rank }: Row): boolean {
	return rank <= purged.to && rank >= purged.from && job.state === WAITING;
}

/** Returns the ranks of a queue outside its purged interval, bounds excluded. */
export function unpurged({ purged: { from, to } }: Queue): { after: number; before: number }[] {
	return from > to
		? [{ after: FIRST, before: LAST }]
		: [
				{ after: FIRST, before: from },
				{ after: to, before: LAST },
			];
}
