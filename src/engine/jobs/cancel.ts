/** `/cancel`: ends a waiting job, stops a running one (spec 3, D10, D18). */
import { ApiError } from "../../core/errors.ts";
import type { JobState } from "../../core/job-states.ts";
import { isJobId } from "../../ids.ts";
import type { JobDeps, JobName } from "./job-deps.ts";

type Deps = Pick<JobDeps, "store" | "now" | "events" | "waiters" | "workers">;

/** A job that has ended keeps its state, which is returned. Throws `job_not_found`. */
export async function cancel(d: Deps, q: JobName): Promise<JobState> {
	const moved = isJobId(q.id) ? await d.store.jobs.move({ ...q, on: "cancel", now: d.now() }) : undefined;
	if (moved?.ok) {
		const { job } = moved;
		// Before the event: the drain then checks what the workers hold.
		if (job.startedAt !== undefined && job.worker !== undefined)
			d.workers.stopSignals.request({ ...q, worker: job.worker });
		d.events.emit("job.settled", { ...q, state: job.state });
		d.waiters.jobEnded({ job });
		return job.state;
	}
	if (moved?.state) return moved.state;
	throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
}

/**
 * Cancels a job whose only caller has disconnected (D32), after an outage of the store if need be.
 * Nothing happens when it has ended or does not exist.
 */
export async function abandon(d: Deps & Pick<JobDeps, "retry" | "background">, q: JobName): Promise<void> {
	try {
		await d.retry(() => cancel(d, q), { signal: d.background.stopped });
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
	}
}
