/** `/health` of an endpoint (spec 2.6, D13), and the counts of all endpoints. */
import type { Counts } from "../../core/jobs/job-transitions.ts";
import { endpointHealth, type EndpointHealth } from "../../core/workers/endpoint-health.ts";
import { isManaged } from "../../launchers/index.ts";
import type { EngineContext } from "../context.ts";
import type { EndpointEntry } from "../endpoints/endpoint-registry.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { isSleeping, isStarting } from "../workers/worker-registry.ts";
import type { WorkerView, WorkerViews } from "../workers/worker-views.ts";

export interface EndpointSnapshot extends EndpointEntry {
	jobs: Counts;
	workers: ReturnType<typeof workerCounts>;
	/** Workers that sleep, which `workers` does not count (D28). */
	asleep: number;
	health: EndpointHealth;
}

const NO_JOBS: Readonly<Counts> = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };

export async function health(d: EngineContext & { views: WorkerViews }, endpoint: string) {
	const [jobs, workers] = await Promise.all([d.store.jobs.counts({ endpoint, now: d.now() }), d.views.of(endpoint)]);
	return { jobs, workers: workerCounts(workers) };
}

/** Throws as the store does. */
export async function endpointSnapshots(
	d: EngineContext & { endpoints: Endpoints; views: WorkerViews },
): Promise<EndpointSnapshot[]> {
	const counts = new Map((await d.store.jobs.allCounts({ now: d.now() })).map((each) => [each.endpoint, each.counts]));
	return await Promise.all(
		d.endpoints.all().map(async (entry) => {
			const { id, launcher, workersMax } = entry.endpoint;
			const jobs = counts.get(id) ?? NO_JOBS;
			const workers = await d.views.of(id, jobs.inProgress === 0);
			const state = endpointHealth({
				paused: entry.paused,
				crashes: d.views.heldBack(id).crashing !== undefined,
				reason: d.views.reason(id),
				canStart: isManaged(launcher.type) && workersMax > 0,
				present: workers.length,
				inQueue: jobs.inQueue,
			});
			const asleep = workers.filter(isSleeping).length;
			return { ...entry, jobs, workers: workerCounts(workers), asleep, health: state };
		}),
	);
}

/** An idle worker counts in `idle` and `ready`, a busy one only in `running`, one that sleeps nowhere. */
function workerCounts(workers: readonly WorkerView[]) {
	const counts = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };
	for (const worker of workers) {
		if (worker.unhealthy) counts.unhealthy += 1;
		else if (worker.jobs.length > 0) counts.running += 1;
		else if (isSleeping(worker)) continue;
		else if (isStarting(worker)) counts.initializing += 1;
		else {
			counts.idle += 1;
			counts.ready += 1;
		}
	}
	return counts;
}
