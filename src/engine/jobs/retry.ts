/** `/retry`: a failed or timed-out job joins the end of the queue again (spec 3, D37). */
import type { Endpoint } from "../../core/endpoint.ts";
import { queueBound } from "../../core/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import type { EventBus } from "../../events.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import type { Dispatch } from "./dispatch.ts";
import { isJobId } from "../../ids.ts";
import type { CompletionWaiters } from "./wait.ts";

/**
 * Queues the job again under its id. Throws `job_not_found`, `job_not_retryable`, `queue_full`
 * (D23).
 */
export async function retry(
	d: {
		jobs: JobStore;
		now: () => number;
		events: EventBus;
		dispatch: Dispatch;
		waiting: CompletionWaiters;
		onQueued: (endpoint: string) => void;
	},
	{ endpoint, id }: { endpoint: Endpoint; id: string },
): Promise<void> {
	const bound = queueBound(endpoint);
	const moved = isJobId(id)
		? await d.jobs.move({ endpoint: endpoint.id, id, on: "retry", queueBound: bound, now: d.now() })
		: undefined;
	if (!moved?.ok) {
		if (moved?.why === "full")
			throw new ApiError("queue_full", { endpoint: endpoint.id, limit: bound ?? 0 });
		if (moved?.state !== undefined)
			throw new ApiError("job_not_retryable", { job: id, state: moved.state });
		throw new ApiError("job_not_found", { endpoint: endpoint.id, job: id });
	}
	d.events.emit("job.queued", { endpoint: endpoint.id, id, again: true });
	d.waiting.news(id);
	d.dispatch.announce(endpoint.id);
	d.onQueued(endpoint.id);
}
