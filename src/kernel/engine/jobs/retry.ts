/** `/retry`: a failed or timed-out job joins the end of the queue again (spec 3, D37). */
import { queueBound } from "../../core/endpoints/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import { isJobId } from "../../core/jobs/job.ts";
import type { JobDeps, JobName } from "./job-deps.ts";

/** The job keeps its id. Throws `endpoint_not_found`, `job_not_found`, `job_not_retryable`, `queue_full` (D23). */
export async function retry(d: JobDeps, { endpoint, id }: JobName): Promise<void> {
	const bound = queueBound(d.endpoints.get(endpoint));
	const moved = isJobId(id)
		? await d.store.jobs.move({ endpoint, id, on: "retry", queueBound: bound, now: d.now() })
		: undefined;
	if (!moved?.ok) {
		if (moved?.why === "full") throw new ApiError("queue_full", { endpoint, limit: bound ?? 0 });
		if (moved?.state !== undefined) throw new ApiError("job_not_retryable", { job: id, state: moved.state });
		throw new ApiError("job_not_found", { endpoint, job: id });
	}
	d.events.emit("job.queued", { endpoint, id, again: true });
	d.waiters.notify(id);
	d.dispatch.announce(endpoint);
}
