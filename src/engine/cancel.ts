/** `/cancel`: ends a waiting job, stops a running one (spec 3, D10, D18). */
import { ApiError } from "../core/errors.ts";
import type { JobState } from "../core/machine.ts";
import type { EventBus } from "../events.ts";
import type { JobStore } from "../store/store.ts";
import { isJobId } from "./ids.ts";
import type { Stopping } from "./stop.ts";
import type { Waiting } from "./wait.ts";

/** Cancels; a job that has ended keeps its state, which is the answer. Throws `job_not_found`. */
export async function cancel(
  d: { jobs: JobStore; now: () => number; events: EventBus; waiting: Waiting; stopping: Stopping },
  q: { endpoint: string; id: string },
): Promise<JobState> {
  const moved = isJobId(q.id) ? await d.jobs.move({ ...q, on: "cancel", now: d.now() }) : undefined;
  if (moved?.ok) {
    const { job } = moved;
    d.events.emit("job.settled", { ...q, state: job.state });
    d.waiting.ended({ job });
    if (job.startedAt !== undefined && job.worker !== undefined) d.stopping.request({ ...q, worker: job.worker });
    return job.state;
  }
  if (moved?.state) return moved.state;
  throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
}
