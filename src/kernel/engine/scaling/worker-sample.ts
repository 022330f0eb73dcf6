import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { Sample } from "../../core/workers/autoscaling.ts";
import { isBusyLow, isStarting, type Worker } from "../workers/worker-registry.ts";

export interface WorkerSample {
	staying: Worker[];
	stoppable: Worker[];
	counts: Omit<Sample, "waiting" | "oldestWaitMs">;
}

export function sampleWorkers(
	managed: readonly Worker[],
	q: {
		endpoint: Endpoint;
		isLeaving: (worker: Worker) => boolean;
		lastStartAt: EpochMs;
		now: EpochMs;
	},
): WorkerSample {
	const { endpoint, now } = q;
	const staying = managed.filter((worker) => !q.isLeaving(worker));
	const idle = staying
		.filter((worker) => !isStarting(worker) && worker.held.size === 0)
		.toSorted((a, b) => a.idleSince - b.idleSince);
	const idleMs = idle.map(({ idleSince }) => now - idleSince);
	const busy = staying.filter((worker) => worker.held.size > 0);
	const starting = staying.filter((worker) => isStarting(worker) && worker.held.size === 0);
	const idleTimeoutMs = endpoint.idleTimeout * 1000;
	const pending = starting
		.filter(({ notice, createdAt }) => notice?.state === "waiting" && now - createdAt >= idleTimeoutMs)
		.toReversed();
	const jobs = busy.flatMap(({ held }) => [...held.values()].filter(({ lowPriority }) => !lowPriority));
	return {
		staying,
		// First those that their platform does not run, then the longest idle, then the last started.
		stoppable: [...new Set([...pending, ...idle, ...starting.toReversed()])],
		counts: {
			inProgress: jobs.length,
			busy: busy.length,
			busyLow: busy.filter(isBusyLow).length,
			idle: idle.length,
			idleFresh: idleMs.filter((ms) => ms <= endpoint.scalerValue * 1000).length,
			idleTooLong: idleMs.filter((ms) => ms >= idleTimeoutMs).length,
			starting: starting.length,
			pendingTooLong: pending.length,
			stopping: managed.length - staying.length,
			sinceStartMs: now - q.lastStartAt,
		},
	};
}
