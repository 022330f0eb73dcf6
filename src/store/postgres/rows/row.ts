/** A job's row and its queue, as one transaction sees them. */
import type { Counts } from "../../../core/job-transitions.ts";
import type { JobKey, Reservation } from "../../operations/unit-of-work.ts";
import type { JobRow } from "../../row.ts";
import { WAITING } from "../../states.ts";

/** Never changed in place. */
export interface Row extends JobRow {
	/** {@link keyOf} of its job. */
	readonly key: string;
	readonly queue: Queue;
	/** Position in lists. */
	readonly number: number;
	/** The queue's epoch when the job began to wait. */
	readonly epoch: number;
	/** Reservation of the chunks being delivered. */
	readonly reader?: ServerReservation | undefined;
}

/** `session`: of the reader's server; its end frees the chunks. */
interface ServerReservation extends Reservation {
	readonly session: number;
}

interface QueueChange extends Counts {
	lowInQueue: number;
	storedBytes: number;
}

export interface Queue {
	readonly endpoint: string;
	/** Whether it has a row in `queues`. */
	known: boolean;
	/** Waiting jobs of an earlier epoch were purged (D11). */
	epoch: number;
	/** Highest rank of a purged job, or 0. */
	purgedTo: number;
	/** Counts of all servers plus this transaction's changes. */
	readonly counts: Counts;
	/** Waiting low-priority jobs, part of `counts.inQueue` (D20). */
	lowInQueue: number;
	/** Inputs, results and chunks of its jobs (D43). */
	storedBytes: number;
	/** This transaction's changes to `counts`, `lowInQueue` and `storedBytes`. */
	readonly change: QueueChange;
	/** A deadline of one of its jobs may have passed unsettled. */
	due: boolean;
}

/** Map key of a job. */
export function keyOf({ endpoint, id }: JobKey): string {
	return `${endpoint}/${id}`;
}

/** Whether the job waited when its queue was purged: then it must not be visible. */
export function isPurged({ job, queue, epoch }: Row): boolean {
	return epoch < queue.epoch && job.state === WAITING;
}

export function noCounts(): Counts {
	return { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };
}

export function noChange(): QueueChange {
	return { ...noCounts(), lowInQueue: 0, storedBytes: 0 };
}
