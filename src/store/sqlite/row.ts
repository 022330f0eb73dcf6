/** The two records that this thread keeps in memory: a job's row and the queue of its endpoint. They name each other. */
import type { Job } from "../../core/job.ts";
import type { Counts } from "../../core/life.ts";

/** A row; never changed in place. */
export interface Row {
  readonly seq: number;
  readonly job: Job;
  readonly queue: Queue;
  /** Place in the queue, smallest first. */
  readonly rank: number;
  /** Number of the next chunk. */
  readonly nextChunk: number;
  /** Number of the next chunk to deliver. */
  readonly cursor: number;
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
  /** How many jobs joined at the front so far: whoever remembers a place in the queue compares it. */
  fronts: number;
  /** Waiting jobs that are not in the file yet, by number in their order; those of low priority apart. */
  readonly unwritten: readonly [Map<number, Row>, Map<number, Row>];
}
