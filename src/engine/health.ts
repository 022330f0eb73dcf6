/** `/health`: counts of jobs and workers of an endpoint (spec 2.6, D13). */
import type { Counts } from "../core/life.ts";
import type { JobStore } from "../store/store.ts";
import type { Worker, Workers } from "./workers.ts";

/** Workers by what they do. An idle one counts in `idle` and `ready`, a busy one only in `running`. */
export interface WorkerCounts {
  idle: number;
  initializing: number;
  ready: number;
  running: number;
  throttled: number;
  unhealthy: number;
}

/** Both counts of an endpoint. */
export async function health(d: { jobs: JobStore; workers: Workers; now: () => number }, endpoint: string): Promise<{ jobs: Counts; workers: WorkerCounts }> {
  return { jobs: await d.jobs.counts({ endpoint, now: d.now() }), workers: workerCounts(d.workers.of(endpoint)) };
}

/** Counts workers by what they do. */
export function workerCounts(workers: Iterable<Worker>): WorkerCounts {
  const counts: WorkerCounts = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };
  for (const worker of workers) {
    if (worker.unhealthy) counts.unhealthy += 1;
    else if (worker.held.size > 0) counts.running += 1;
    else if (!worker.ready) counts.initializing += 1;
    else {
      counts.idle += 1;
      counts.ready += 1;
    }
  }
  return counts;
}
