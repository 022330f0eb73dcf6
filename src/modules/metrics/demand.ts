/** How many workers an endpoint wants, for those that start them outside of Sluice (D27). */
import { desiredWorkers, leastWorkers } from "../../kernel/core/workers/autoscaling.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import type { Endpoints } from "../../kernel/engine/endpoints/endpoints.ts";

/** Ignores delays, which who starts workers knows better. Throws as the store does: an outage is not a demand of 0. */
export async function demand(d: EngineContext & { endpoints: Endpoints }, id: string) {
	const endpoint = d.endpoints.get(id);
	const now = d.now();
	const [waits, counts] = await Promise.all([
		d.store.jobs.waiting({ endpoint: id, now }),
		d.store.jobs.counts({ endpoint: id, now }),
	]);
	const isPaused = d.endpoints.paused(id);
	const { jobs: waiting, oldestQueuedAt = now } = isPaused ? { jobs: 0 } : waits;
	const running = counts.inProgress;
	const { workersMax, scalerType, scalerValue } = endpoint;
	const workersMin = leastWorkers(endpoint, isPaused ? 0 : (d.hooks.wantedWorkers?.(id) ?? 0));
	const wanted = desiredWorkers(
		{ ...NO_WORKERS, waiting, inProgress: running },
		{
			workersMin,
			workersMax,
			scalerType: "REQUEST_COUNT",
			scalerValue: scalerType === "REQUEST_COUNT" ? scalerValue : 1,
		},
	);
	return { wanted, waiting, running, oldestWaitSeconds: Math.round((now - oldestQueuedAt) / 1000) };
}

const NO_WORKERS = {
	oldestWaitMs: 0,
	busy: 0,
	busyLow: 0,
	idle: 0,
	idleFresh: 0,
	starting: 0,
	idleTooLong: 0,
	pendingTooLong: 0,
	stopping: 0,
	sinceStartMs: Infinity,
};
