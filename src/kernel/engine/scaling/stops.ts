/** Stops workers of managed endpoints that are not needed, or puts them to sleep (D27, D28). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import { isShared } from "../../launchers/index.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { isStarting, type Worker } from "../workers/worker-registry.ts";
import type { Workers } from "../workers/workers.ts";

const STOP_AGAIN_MS = 5000;

interface Deps extends EngineContext {
	endpoints: Endpoints;
	workers: Workers;
	cluster: Cluster;
}

export type Stops = ReturnType<typeof workerStops>;

export function workerStops({ now, endpoints, background, cluster, workers, hooks }: Deps) {
	const { launcher, registry, sleep } = workers;

	function stop(worker: Worker, why: string, q: { code?: WorkerReasonCode; isSurplus?: boolean } = {}): void {
		const graceMs = endpoints.stopGraceMs(worker.endpoint);
		background.run(`stopping ${worker.id}`, launcher.stop(worker, { why, graceMs, ...q }));
	}

	return {
		stop,
		/** Those that were to be stopped once they hold no job. */
		stopRetired(): void {
			for (const worker of registry.all()) {
				const stays = isShared(worker.launcher) && endpoints.has(worker.endpoint);
				if (cluster.scalesElsewhere(worker.endpoint) && !stays)
					launcher.retire(worker, "another server starts the workers of its endpoint");
				if (worker.retiring === undefined || worker.held.size > 0 || launcher.isStopping(worker)) continue;
				if (hooks.placement?.leave(worker)) continue;
				stop(worker, worker.retiring, worker.retiringCode && { code: worker.retiringCode });
			}
		},
		/** The first `count` ones, unless they have jobs by now. */
		stopSurplus({ idleTimeout, workersMax }: Endpoint, stoppable: readonly Worker[], count: number): void {
			const surplus = stoppable
				.slice(0, Math.max(0, count))
				.filter((worker) => worker.held.size === 0 && !launcher.isLeaving(worker))
				.filter(({ unstopped }) => !unstopped || now() - unstopped.at >= STOP_AGAIN_MS);
			for (const worker of surplus) {
				const starts = isStarting(worker);
				const since = worker.ready ? worker.idleSince : worker.createdAt;
				const tooLong = now() - since >= idleTimeout * 1000;
				const overMax = `there are more than workersMax, which is ${workersMax}`;
				const isPending = starts && worker.notice?.state === "waiting";
				const isSurplus = tooLong && !starts;
				const idleText = `idle for over ${idleTimeout} s`;
				if (tooLong && isPending) stop(worker, "it does not run yet, and no job waits for it");
				else if (isSurplus && sleep.isPossible(worker)) sleep.begin(worker, idleText);
				else stop(worker, isSurplus ? idleText : overMax, { isSurplus });
			}
		},
	};
}
