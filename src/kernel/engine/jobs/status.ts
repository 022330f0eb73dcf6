import { ApiError } from "../../core/errors.ts";
import { isJobId, type Job } from "../../core/jobs/job.ts";
import { isFinal } from "../../core/jobs/job-states.ts";
import type { AdmitOutput, JobResult } from "../../core/jobs/job-view.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { JobDeps, JobName } from "./job-deps.ts";
import type { Caller, CompletionWait } from "./wait.ts";

type Deps = Pick<JobDeps, "store" | "now">;

/** A query for a job. Without `output`, the answer has only the size of a large output (D41). */
export type JobQuery = JobName & { output?: AdmitOutput | undefined };

/** Returns a job. Throws `job_not_found`. */
export async function status(d: Deps, { endpoint, id, output }: JobQuery): Promise<JobResult> {
	const q = { endpoint, id, now: d.now(), large: "size" } as const;
	return withOutput(d, existing(q, isJobId(id) ? await d.store.jobs.get(q) : undefined), output);
}

/**
 * Returns the job with its output once `admit` permits it, read again if necessary. Throws `job_not_found`. Not async:
 * the frame would keep an output in memory while it waits.
 */
export function withOutput(d: Deps, found: JobResult, admit?: AdmitOutput): JobResult | Promise<JobResult> {
	const { endpoint, id } = found.job;
	const read = async (): Promise<JobResult> =>
		existing({ endpoint, id }, await d.store.jobs.get({ endpoint, id, now: d.now() }));
	return admit?.(found)?.then(read) ?? found;
}

/** Keeps the result for at most `retainMs` from the end of the job (D9). Throws `job_not_found`. */
export async function retain(d: Deps, { output, ...q }: JobQuery & { retainMs: number }): Promise<JobResult> {
	const found = await status(d, q);
	// This answer may be the last with the output.
	await output?.(found);
	return existing(q, await d.store.jobs.retain({ ...q, now: d.now() }));
}

function existing({ endpoint, id }: JobName, found: JobResult | undefined): JobResult {
	if (!found) throw new ApiError("job_not_found", { endpoint, job: id });
	return found;
}

/** Returns the job when it has ended, or as it is after `ms` (D8). Throws `job_not_found`. */
export async function statusSync(
	d: Deps & Pick<JobDeps, "waiters">,
	{ output, ...q }: JobQuery & { ms: number; caller: Caller },
): Promise<JobResult> {
	// The wait begins before the read, so that an end in between is not missed.
	const end = d.waiters.forEnd(q);
	try {
		const found = await status(d, q);
		return withOutput(d, isFinal(found.job.state) ? found : await resultAfter(d, found.job, end), output);
	} finally {
		end.leave();
	}
}

/**
 * If the wait ends without a result, returns the job as it is: it may still run, its result may not have been kept
 * (D9), or it was purged (D11).
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
