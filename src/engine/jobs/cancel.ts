/** `/cancel`: ends a waiting job, stops a running one (spec 3, D10, D18). */
import { ApiError } from "../../core/errors.ts";
import type { JobState } from "../../core/job-states.ts";
import type { EventBus } from "../../events.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import type { RetryWhileUnavailable } from "../availability/retry-while-unavailable.ts";
import { isJobId } from "../../ids.ts";
import type { StopSignals } from "../workers/stop-signals.ts";
import type { CompletionWaiters } from "./wait.ts";

interface Deps {
	jobs: JobStore;
	now: () => number;
	events: EventBus;
	waiting: CompletionWaiters;
	stopping: StopSignals;
}

/** Cancels; a job that has ended keeps its state, which is the answer. Throws `job_not_found`. */
export async function cancel(d: Deps, q: { endpoint: string; id: string }): Promise<JobState> {
	const moved = isJobId(q.id) ? await d.jobs.move({ ...q, on: "cancel", now: d.now() }) : undefined;
	if (moved?.ok) {
		const { job } = moved;
		// Before it is told: whoever waits for workers to be free looks at what they hold.
		if (job.startedAt !== undefined && job.worker !== undefined)
			d.stopping.request({ ...q, worker: job.worker });
		d.events.emit("job.settled", { ...q, state: job.state });
		d.waiting.ended({ job });
		return job.state;
	}
	if (moved?.state) return moved.state;
	throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
}

/**
 * Cancels a job whose only caller has left (D32), also when the store is back only later; nothing
 * where it has ended or is no more.
 */
export async function abandon(
	d: Deps & { hold: RetryWhileUnavailable },
	q: { endpoint: string; id: string },
	signal: AbortSignal,
): Promise<void> {
	try {
		await d.hold(() => cancel(d, q), { signal });
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
	}
}
