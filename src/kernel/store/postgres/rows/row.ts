import type { Counts } from "../../../core/jobs/job-transitions.ts";
import type { JobKey, Reservation } from "../../operations/unit-of-work.ts";
import { type JobRow, WAITING } from "../../row.ts";
import { rowsOf } from "../connection/arrays.ts";

/** Never changed in place. */
export interface Row extends JobRow {
	readonly key: string;
	readonly queue: Queue;
	/** Position in lists. */
	readonly number: number;
	/** The queue's epoch when the job began to wait. */
	readonly epoch: number;
	readonly reader?: ServerReservation | undefined;
}

/** `session`: that of the reader's server. When it ends, the chunks are free. */
interface ServerReservation extends Reservation {
	readonly session: number;
}

interface QueueChange extends Counts {
	lowInQueue: number;
	storedBytes: number;
}

export interface Queue {
	readonly endpoint: string;
	known: boolean;
	/** Waiting jobs of an earlier epoch were purged (D11). */
	epoch: number;
	/** Highest rank of a purged job, or 0. */
	purgedTo: number;
	/** Counts of all servers, plus this transaction's changes. */
	readonly counts: Counts;
	/** Part of `counts.inQueue` (D20). */
	lowInQueue: number;
	/** Bytes (D43). */
	storedBytes: number;
	readonly change: QueueChange;
	/** A deadline of one of its jobs may have passed unsettled. */
	due: boolean;
}

export const KEYS = rowsOf<JobKey>({ endpoint: "text", id: "text" });

export function keyOf({ endpoint, id }: JobKey): string {
	return `${endpoint}/${id}`;
}

/** Whether the job waited when its queue was purged: it must not be visible. */
export function isPurged({ job, queue, epoch }: Row): boolean {
	return epoch < queue.epoch && job.state === WAITING;
}

export function newQueue(endpoint: string): Queue {
	const { lowInQueue, storedBytes, ...counts } = noChange();
	return {
		endpoint,
		known: false,
		epoch: 0,
		purgedTo: 0,
		counts,
		lowInQueue,
		storedBytes,
		change: noChange(),
		due: false,
	};
}

export function noChange(): QueueChange {
	return { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0, lowInQueue: 0, storedBytes: 0 };
}
