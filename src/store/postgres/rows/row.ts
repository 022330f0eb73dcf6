/** A job's row and the queue of its endpoint, as one transaction sees and changes them. */
import type { Counts } from "../../../core/job-transitions.ts";
import type { JobKey, Reservation } from "../../operations/unit-of-work.ts";
import type { JobRow } from "../../row.ts";
import { WAITING } from "../../states.ts";

/** A row; never changed in place. */
export interface Row extends JobRow {
	readonly queue: Queue;
	/** Place in lists. */
	readonly number: number;
	/** The epoch of the queue when the job began to wait. */
	readonly epoch: number;
	/** Who is writing chunks to its client. */
	readonly reader?: ServerReservation | undefined;
}

/** A reservation; `session` is its server's, whose end frees the chunks. */
export interface ServerReservation extends Reservation {
	readonly session: number;
}

/** One endpoint's queue. */
export interface Queue {
	readonly endpoint: string;
	/** Whether it has a row. */
	known: boolean;
	/** Waiting jobs of an earlier epoch were purged (D11). */
	epoch: number;
	/** The highest rank of a purged job; 0 when there was none. */
	purgedTo: number;
	/** Counts of all servers together, with what this transaction changed. */
	readonly counts: Counts;
	/** Waiting jobs of low priority, part of `counts.inQueue` (D20). */
	lowInQueue: number;
	/** What this transaction changed of `counts` and `lowInQueue`. */
	readonly change: Counts & { lowInQueue: number };
	/** Something may have passed for one of its jobs that is not written yet. */
	due: boolean;
}

/** A job's place in a map. */
export function keyOf({ endpoint, id }: JobKey): string {
	return `${endpoint}/${id}`;
}

/** Whether the job waited when its queue was purged: nothing of it may be seen any more. */
export function isPurged({ job, queue, epoch }: Row): boolean {
	return epoch < queue.epoch && job.state === WAITING;
}

/** No counts at all. */
export function noCounts(): Counts {
	return { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };
}
