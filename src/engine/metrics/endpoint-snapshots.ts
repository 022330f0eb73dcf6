/** All endpoints with the counts of `/health` (D13), by one question to the store. */
import { endpointHealth, type EndpointHealth } from "../../core/workers/endpoint-health.ts";
import { isManaged } from "../../launchers/index.ts";
import type { Counts } from "../../core/job-transitions.ts";
import type { EngineContext } from "../context.ts";
import type { EndpointEntry } from "../endpoints/endpoint-registry.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { WorkerViews } from "../workers/worker-views.ts";
import { workerCounts, type WorkerCounts } from "./health.ts";

export interface EndpointSnapshot extends EndpointEntry {
	jobs: Counts;
	workers: WorkerCounts;
	health: EndpointHealth;
}

const NO_JOBS: Readonly<Counts> = {
	inQueue: 0,
	inProgress: 0,
	completed: 0,
	failed: 0,
	retried: 0,
};

/** Throws as the store does. */
export async function endpointSnapshots(
	d: Pick<EngineContext, "store" | "now"> & {
		endpoints: Pick<Endpoints, "all">;
		views: Pick<WorkerViews, "of" | "reason" | "heldBack">;
	},
): Promise<EndpointSnapshot[]> {
	const counts = new Map((await d.store.jobs.allCounts({ now: d.now() })).map((each) => [each.endpoint, each.counts]));
	return await Promise.all(
		[...d.endpoints.all()].map(async (entry) => {
			const { id, launcher, workersMax } = entry.endpoint;
			const jobs = counts.get(id) ?? NO_JOBS;
			const workers = await d.views.of(id, jobs.inProgress === 0);
			const health = endpointHealth({
				paused: entry.paused,
				crashes: d.views.heldBack(id).crashing !== undefined,
				reason: d.views.reason(id),
				canStart: isManaged(launcher.type) && workersMax > 0,
				present: workers.length,
				inQueue: jobs.inQueue,
			});
			return { ...entry, jobs, workers: workerCounts(workers), health };
		}),
	);
}
