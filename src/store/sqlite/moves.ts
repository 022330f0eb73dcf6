/** Writes what a step of the pure core brings about, and settles what has passed for a job (D15). */
import { deliveryOf } from "../../core/delivery.ts";
import { dueAt, dueEvent, errorOf, lossOf, step } from "../../core/life.ts";
import type { EventContext, Step } from "../../core/life.ts";
import type { Job } from "../../core/job.ts";
import type { JobEvent } from "../../core/machine.ts";
import { isFinal } from "../../core/machine.ts";
import type { JobResult } from "../../core/view.ts";
import type { Signal } from "../store.ts";
import type { Attempts } from "./attempts.ts";
import type { ChunkRows } from "./chunk-rows.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Queues } from "./queues.ts";
import type { Records } from "./records.ts";
import type { Row } from "./row.ts";
import { RUNNING, WAITING } from "./states.ts";
import type { Result, Texts } from "./texts.ts";

/** What {@link openMoves} works on. */
export interface MoveParts {
  queues: Queues;
  records: Records;
  attempts: Attempts;
  texts: Texts;
  chunks: ChunkRows;
  deliveries: Deliveries;
  signal: (signal: Signal) => void;
}

/** A job as it would be after everything that has passed for it, without a write. */
export interface Projection {
  job: Job;
  /** Steps that have passed, in order. */
  steps: Step[];
  /** The sentence of the last one that gives the job an error. */
  error?: string | undefined;
}

export type Moves = ReturnType<typeof openMoves>;

export function openMoves({ queues, records, attempts, texts, chunks, deliveries, signal }: MoveParts) {
  /** Adds the delivery that the end of a job brings about, if any (D21). */
  function deliver(result: JobResult): void {
    const delivery = deliveryOf(result);
    if (!delivery) return;
    deliveries.add(delivery);
    signal({ kind: "delivery" });
  }

  /** Writes a step. `result` are the texts a job ends with. Undefined when nothing of the job is left. */
  function write(row: Row, taken: Step, result: Result): Row | undefined {
    const { seq, queue } = row;
    queues.moved(queue, taken);
    if (taken.ended) deliver({ job: taken.job, ...result });
    if (taken.closed) attempts.add(seq, taken.closed);
    const cursor = taken.chunks ? chunks.drop(row, taken.chunks) : row.cursor;
    let { rank } = row;
    if (taken.place === "back") rank = queues.nextBack();
    else if (taken.place === "front") {
      rank = queues.nextFront();
      queue.fronts += 1;
    }
    if (taken.erase || taken.remove) texts.erase(seq);
    // Leaving the running state takes the progress value away; the end of a wait leaves a sentence.
    else if (taken.clear || taken.from === RUNNING || result.error !== undefined) texts.setResult(seq, result);
    if (!taken.remove) return records.update(row, { job: taken.job, rank, cursor });
    attempts.remove(seq);
    records.remove(seq);
    return undefined;
  }

  function announce({ on, job, place, stop, closed }: Step): void {
    const { endpoint, id } = job;
    if (place) signal({ kind: "queued", endpoint, id, worker: closed?.worker });
    if (isFinal(job.state) && on !== "expire" && on !== "forget") signal({ kind: "settled", endpoint, id, state: job.state });
    if (stop !== undefined) signal({ kind: "stop", endpoint, id, worker: stop });
  }

  /** The sentence for a job that an event ends; the history is read only where it is told. */
  function sentence(on: JobEvent, row: Row, before: Job): string | undefined {
    return errorOf(on, before, on === "exhaust" ? attempts.list(row.seq) : []);
  }

  /** Applies an event now. Undefined when the table refuses it; `row` in the answer is absent when nothing is left. */
  function apply(row: Row, on: JobEvent, q: EventContext & { result?: Result }): { step: Step; row: Row | undefined } | undefined {
    const taken = step(row.job, on, q);
    if (!taken) return undefined;
    return { step: taken, row: write(row, taken, q.result ?? { error: sentence(on, row, row.job) }) };
  }

  /** The running job with a full lease from `now`. */
  function renewed(job: Job, now: number): Job {
    const after: Job = { ...job, leaseUntil: now + job.leaseMs };
    after.dueAt = dueAt(after);
    return after;
  }

  /** Settles all that has passed for the job up to `now`, announced. Undefined when nothing of it is left. */
  function pass(row: Row, now: number): Row | undefined {
    for (let at: Row | undefined = row; ; ) {
      const due = dueEvent(at.job, now);
      if (!due) return at;
      const applied = apply(at, due.on, { now: due.at });
      if (!applied) return at;
      announce(applied.step);
      at = applied.row;
      if (!at) return undefined;
    }
  }

  return {
    apply,
    announce,

    pass,
    renewed,

    /** Renews the lease of a running job; `missed` are the pings that did not name it so far, unchanged when absent. */
    renew(row: Row, now: number, missed = row.job.missed): Row {
      return records.update(row, { job: renewed({ ...row.job, missed }, now) });
    },

    /** Takes running jobs back, those that left the queue last first, so that they wait in their old order. Announces what the caller cannot know; answers the ids that wait again. */
    takeBack(rows: readonly Row[], context: EventContext): string[] {
      const back: string[] = [];
      for (const row of rows.toSorted((a, b) => b.rank - a.rank)) {
        // A lease that ended was lost at its end, however late that is noticed.
        const applied = apply(row, lossOf(row.job), { ...context, now: Math.min(context.now, row.job.dueAt) });
        if (!applied) continue;
        announce(applied.step);
        const after = applied.row && pass(applied.row, context.now);
        if (after?.job.state === WAITING) back.push(row.job.id);
      }
      return back.toReversed();
    },

    /** The job as if all that has passed for it were settled; undefined when nothing of it is left. */
    project(row: Row, now: number): Projection | undefined {
      const projection: Projection = { job: row.job, steps: [] };
      for (let due = dueEvent(row.job, now); due; due = dueEvent(projection.job, now)) {
        const taken = step(projection.job, due.on, { now: due.at });
        if (!taken) break;
        projection.error = sentence(due.on, row, projection.job) ?? projection.error;
        projection.job = taken.job;
        projection.steps.push(taken);
        if (taken.remove) return undefined;
      }
      return projection;
    },
  };
}
