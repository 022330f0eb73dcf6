/** One job as operators see it: its record, its attempts, and why it waits (D29, D39). */
import { ApiError } from "../../core/errors.ts";
import { attemptsOf, waitReason } from "../../core/timeline.ts";
import type { Reason, AttemptDetails } from "../../core/timeline.ts";
import type { JobRecord, JobStore } from "../../store/contract/jobs.ts";
import { isJobId } from "../../ids.ts";
import type { EndpointEntry } from "../endpoints/endpoint-registry.ts";
import type { WorkerView, WorkerViews } from "../workers/worker-views.ts";

/** All of a job that may be told. */
export interface JobDetails extends Omit<JobRecord, "attempts"> {
	attempts: AttemptDetails[];
	/** Only while it waits. */
	reason?: Reason;
}

interface Deps {
	jobs: JobStore;
	now: () => number;
	views: WorkerViews;
	entry: (endpoint: string) => EndpointEntry;
}

/** The job, erased or not; throws `job_not_found`. */
export async function jobDetails(
	d: Deps,
	q: { endpoint: string; id: string },
): Promise<JobDetails> {
	const found = isJobId(q.id) ? await d.jobs.record({ ...q, now: d.now() }) : undefined;
	if (!found) throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
	const attempts = attemptsOf(found.job, found.attempts);
	if (found.job.state !== "IN_QUEUE") return { ...found, attempts };

	const { endpoint, paused } = d.entry(q.endpoint);
	const present = (await d.views.of(q.endpoint)).filter(
		(worker) => !worker.draining && !worker.unhealthy,
	);
	const ids = (fits: (worker: WorkerView) => boolean): string[] =>
		present.filter(fits).map(({ id }) => id);
	const reason = waitReason({
		endpoint: endpoint.id,
		paused,
		external: endpoint.launcher.type === "external",
		workersMax: endpoint.workersMax,
		idle: ids((worker) => worker.ready && worker.jobs.length === 0),
		busy: ids((worker) => worker.ready && worker.jobs.length > 0),
		starting: ids((worker) => !worker.ready),
		fenced: attempts.filter(({ open }) => open).map(({ worker }) => worker),
		...d.views.heldBack(q.endpoint),
		onlyLowPriority:
			found.job.lowPriority &&
			(await d.jobs.waiting({ endpoint: q.endpoint, now: d.now() })).jobs === 0,
	});
	return { ...found, attempts, reason };
}
