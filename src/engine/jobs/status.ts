/** Reads a job, at once or when it has ended. */
import { ApiError } from "../../core/errors.ts";
import type { Job } from "../../core/job.ts";
import { isFinal } from "../../core/job-states.ts";
import type { JobResult } from "../../core/job-view.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { isJobId } from "../../ids.ts";
import type { JobDeps, JobName } from "./job-deps.ts";
import type { Caller, CompletionWait } from "./wait.ts";

type Deps = Pick<JobDeps, "store" | "now">;

/** The job as it is, of a large output only its size (D41); throws `job_not_found`. */
export async function status(d: Deps, { endpoint, id }: JobName): Promise<JobResult> {
	const q = { endpoint, id, now: d.now(), large: "size" } as const;
	return existing(q, isJobId(id) ? await d.store.jobs.get(q) : undefined);
}

/** The job with its whole output; throws `job_not_found`. */
export async function result(d: Deps, { endpoint, id }: JobName): Promise<JobResult> {
	const q = { endpoint, id, now: d.now() };
	return existing(q, isJobId(id) ? await d.store.jobs.get(q) : undefined);
}

/**
 * The job as it is, its result kept for at most `retainMs` from its end from now on (D9); throws
 * `job_not_found`.
 */
export async function retain(d: Deps, q: JobName & { retainMs: number }): Promise<JobResult> {
	return existing(q, isJobId(q.id) ? await d.store.jobs.retain({ ...q, now: d.now() }) : undefined);
}

function existing({ endpoint, id }: JobName, found: JobResult | undefined): JobResult {
	if (!found) throw new ApiError("job_not_found", { endpoint, job: id });
	return found;
}

/**
 * The job when it has ended, or as it is after `ms` (D8). A large output is there if it arrived
 * meanwhile, else its size. Throws `job_not_found`.
 */
export async function statusSync(
	d: Deps & Pick<JobDeps, "waiters">,
	q: JobName & { ms: number; caller: Caller },
): Promise<JobResult> {
	// The wait begins before the read, so that an end in between is not missed.
	const end = d.waiters.forEnd(q);
	try {
		const found = await status(d, q);
		return isFinal(found.job.state) ? found : await resultAfter(d, found.job, end);
	} finally {
		end.leave();
	}
}

/**
 * The result at the end of the wait; else the job as it is, its end alone when the result was not
 * to be kept (D9), or that it was purged (D11).
 */
export async function resultAfter(d: Deps, job: Job, end: CompletionWait<JobResult | undefined>): Promise<JobResult> {
	const result = await end.result;
	if (result) return result;
	const now = d.now();
	const named = { endpoint: job.endpoint, id: job.id, now, large: "size" } as const;
	let found: JobResult | undefined;
	try {
		found = (await d.store.jobs.get(named)) ?? (await d.store.jobs.record(named));
	} catch (error) {
		// The job was accepted: after an error the client would submit it again.
		if (!(error instanceof StoreUnavailable)) throw error;
		return { job };
	}
	return (
		found ?? {
			job: { ...job, state: "CANCELLED", endedAt: now },
			error: "The job was removed from the queue by /purge-queue before a worker took it.",
		}
	);
}
