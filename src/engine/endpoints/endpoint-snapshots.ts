/**
 * All endpoints as they are now: jobs and workers counted as in `/health` (D13), by one question to
 * the store.
 */
import type { Counts } from "../../core/job-transitions.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import { workerCounts } from "./health.ts";
import type { WorkerCounts } from "./health.ts";
import type { EndpointEntry, EndpointRegistry } from "./endpoint-registry.ts";
import type { WorkerViews } from "../workers/worker-views.ts";

/** One endpoint. */
export interface EndpointSnapshot extends EndpointEntry {
	jobs: Counts;
	workers: WorkerCounts;
}

const NO_JOBS: Readonly<Counts> = {
	inQueue: 0,
	inProgress: 0,
	completed: 0,
	failed: 0,
	retried: 0,
};

/** Every known endpoint. Throws as the store does. */
export async function endpointSnapshots(d: {
	jobs: Pick<JobStore, "allCounts">;
	registry: Pick<EndpointRegistry, "all">;
	views: Pick<WorkerViews, "of">;
	now: () => number;
}): Promise<EndpointSnapshot[]> {
	const counted = new Map(
		(await d.jobs.allCounts({ now: d.now() })).map(({ endpoint, counts }) => [endpoint, counts]),
	);
	return await Promise.all(
		[...d.registry.all()].map(async (known) => {
			const jobs = counted.get(known.endpoint.id) ?? NO_JOBS;
			return {
				...known,
				jobs,
				workers: workerCounts(await d.views.of(known.endpoint.id, jobs.inProgress === 0)),
			};
		}),
	);
}
