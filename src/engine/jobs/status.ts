/** Reads a job, at once or when it has ended. */
import { ApiError } from "../../core/errors.ts";
import type { Job } from "../../core/job.ts";
import { isFinal } from "../../core/job-states.ts";
import type { JobResult } from "../../core/job-view.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import { isJobId } from "../../ids.ts";
import type { Caller, CompletionWait, CompletionWaiters } from "./wait.ts";

interface Deps {
	jobs: JobStore;
	now: () => number;
	waiting: CompletionWaiters;
}

interface Named {
	endpoint: string;
	id: string;
}

/** The job as it stands; throws `job_not_found`. */
export async function status(d: Omit<Deps, "waiting">, q: Named): Promise<JobResult> {
	return there(
		q,
		isJobId(q.id) ? await d.jobs.get({ endpoint: q.endpoint, id: q.id, now: d.now() }) : undefined,
	);
}

/**
 * The job as it stands, its result kept for at most `retainMs` from its end from now on (D9);
 * throws `job_not_found`.
 */
export async function retain(
	d: Omit<Deps, "waiting">,
	q: Named & { retainMs: number },
): Promise<JobResult> {
	return there(q, isJobId(q.id) ? await d.jobs.retain({ ...q, now: d.now() }) : undefined);
}

function there({ endpoint, id }: Named, found: JobResult | undefined): JobResult {
	if (!found) throw new ApiError("job_not_found", { endpoint, job: id });
	return found;
}

/** The job when it has ended, or as it stands after `ms` (D8); throws `job_not_found`. */
export async function statusSync(
	d: Deps,
	q: Named & { ms: number; caller: Caller },
): Promise<JobResult> {
	// Waiting begins before the look, so that an end in between is not missed.
	const end = d.waiting.forEnd(q);
	try {
		const found = await status(d, q);
		return isFinal(found.job.state) ? found : await waited(d, found.job, end);
	} finally {
		end.leave();
	}
}

/**
 * What a wait for the end of a job came to: the result told, the job as it stands, its end alone
 * when its result was not to be kept at all (D9), or that it was purged (D11).
 */
export async function waited(
	d: Omit<Deps, "waiting">,
	job: Job,
	end: CompletionWait<JobResult | undefined>,
): Promise<JobResult> {
	const told = await end.result;
	if (told) return told;
	const now = d.now();
	const named = { endpoint: job.endpoint, id: job.id, now };
	let found: JobResult | undefined;
	try {
		found = (await d.jobs.get(named)) ?? (await d.jobs.record(named));
	} catch (error) {
		// It was accepted: told that the store is away, the client would send it again.
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
