/** `/health`: counts of jobs and workers of an endpoint (spec 2.6, D13). */
import type { Counts } from "../../core/job-transitions.ts";
import type { EngineContext } from "../context.ts";
import type { WorkerView, WorkerViews } from "../workers/worker-views.ts";

/** An idle worker counts in `idle` and `ready`, a busy one only in `running`. */
export interface WorkerCounts {
	idle: number;
	initializing: number;
	ready: number;
	running: number;
	throttled: number;
	unhealthy: number;
}

export async function health(
	d: Pick<EngineContext, "store" | "now"> & { views: Pick<WorkerViews, "of"> },
	endpoint: string,
): Promise<{ jobs: Counts; workers: WorkerCounts }> {
	const [jobs, workers] = await Promise.all([d.store.jobs.counts({ endpoint, now: d.now() }), d.views.of(endpoint)]);
	return { jobs, workers: workerCounts(workers) };
}

export function workerCounts(workers: Iterable<WorkerView>): WorkerCounts {
	const counts: WorkerCounts = {
		idle: 0,
		initializing: 0,
		ready: 0,
		running: 0,
		throttled: 0,
		unhealthy: 0,
	};
	for (const worker of workers) {
		if (worker.unhealthy) counts.unhealthy += 1;
		else if (worker.jobs.length > 0) counts.running += 1;
		else if (!worker.ready) counts.initializing += 1;
		else {
			counts.idle += 1;
			counts.ready += 1;
		}
	}
	return counts;
}
