/** `/cancel` and `/purge-queue` (spec 3, D10, D18). */
import { ApiError } from "../../core/errors.ts";
import type { JobState } from "../../core/jobs/job-states.ts";
import { isJobId } from "../../core/jobs/job.ts";
import type { JobDeps, JobName } from "./job-deps.ts";

/** Returns the state, also of a job that has already ended. Throws `job_not_found`. */
export async function cancel(d: JobDeps, q: JobName): Promise<JobState> {
	const moved = isJobId(q.id) ? await d.store.jobs.move({ ...q, on: "cancel", now: d.now() }) : undefined;
	if (moved?.ok) {
		const { job } = moved;
		// Set before the event, since the drain then checks which jobs the workers hold.
		if (job.startedAt !== undefined && job.worker !== undefined)
			d.workers.stopSignals.request({ ...q, worker: job.worker });
		d.events.emit("job.settled", { ...q, state: job.state, release: job.release });
		d.hooks.traces?.ended(job);
		d.waiters.jobEnded({ job });
		return job.state;
	}
	if (moved?.state) return moved.state;
	throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
}

/** Cancels a job whose only caller has disconnected (D32), after an outage of the store if need be. */
export async function abandon(d: JobDeps, q: JobName): Promise<void> {
	try {
		await d.retry(() => cancel(d, q), { signal: d.background.stopped });
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
	}
}

/**
 * Removes every waiting job of an endpoint (D11). The store's signal ends the waits for them ({@link notifyPurged}).
 */
export async function purge(d: JobDeps, endpoint: string): Promise<number> {
	const removed = await d.store.jobs.purge({ endpoint, now: d.now() });
	d.events.emit("queue.purged", { endpoint, removed });
	return removed;
}

export async function notifyPurged(d: JobDeps, endpoint: string): Promise<void> {
	await Promise.all(
		d.waiters.awaitedAt(endpoint).map(async (id) => {
			if (!(await d.store.jobs.get({ endpoint, id, now: d.now(), large: "size" }))) d.waiters.jobRemoved(id);
		}),
	);
}
