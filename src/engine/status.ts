/** Reads a job, at once or when it has ended. */
import { ApiError } from "../core/errors.ts";
import { isFinal } from "../core/machine.ts";
import type { JobResult } from "../core/view.ts";
import type { JobStore } from "../store/store.ts";
import { isJobId } from "./ids.ts";
import type { Caller, Waiting } from "./wait.ts";

interface Deps {
  jobs: JobStore;
  now: () => number;
  waiting: Waiting;
}

/** The job as it stands; throws `job_not_found`. */
export async function status(d: Omit<Deps, "waiting">, q: { endpoint: string; id: string }): Promise<JobResult> {
  const found = isJobId(q.id) ? await d.jobs.get({ endpoint: q.endpoint, id: q.id, now: d.now() }) : undefined;
  if (!found) throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
  return found;
}

/** The job when it has ended, or as it stands after `ms` (D8); throws `job_not_found`. */
export async function statusSync(d: Deps, q: { endpoint: string; id: string; ms: number; caller: Caller }): Promise<JobResult> {
  // Waiting begins before the look, so that an end in between is not missed.
  const end = d.waiting.forEnd(q);
  try {
    const found = await status(d, q);
    if (isFinal(found.job.state)) return found;
    return (await end.result) ?? (await status(d, q));
  } finally {
    end.leave();
  }
}
