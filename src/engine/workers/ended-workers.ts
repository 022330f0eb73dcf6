/** Keeps what is known of launched workers that have ended (D47). */
import {
	ENDED_WORKERS,
	type EndedWorker,
	endOf,
	errorLine,
	lastLines,
	type WorkerExit,
} from "../../core/workers/ended-worker.ts";
import type { EngineContext } from "../context.ts";
import type { StartProblems } from "./start-problems.ts";
import type { Worker } from "./worker-registry.ts";

export interface EndedWorkers {
	/** Returns those of an endpoint that ended last first. */
	of(endpoint: string, limit?: number): Promise<EndedWorker[]>;
	/** Replaces the record of a worker that runs by one of its end. */
	record(worker: Worker, exit: WorkerExit & { lastOutput: string }): Promise<void>;
}

export function endedWorkers({
	store,
	now,
	problems,
}: Pick<EngineContext, "store" | "now"> & { problems: Pick<StartProblems, "set"> }): EndedWorkers {
	const recording = new Set<Promise<void>>();
	return {
		async of(endpoint, limit = ENDED_WORKERS.count) {
			await Promise.allSettled(recording);
			return await store.workers.ended({ endpoint, since: now() - ENDED_WORKERS.ms, limit });
		},
		async record(worker, exit) {
			const { id, endpoint, launcher, host, createdAt, readyAt, ending } = worker;
			const life = { createdAt, readyAt, endedAt: now() };
			const end = endOf(exit, { ...life, ending });
			const lastOutput = lastLines(exit.lastOutput);
			const line = errorLine(lastOutput);
			// One that was stopped without a fault explains nothing.
			if (end.code !== undefined)
				problems.set(endpoint, { printed: line === undefined ? line : { code: end.code, line } });
			const recorded = store.workers.end({
				worker: {
					id,
					endpoint,
					launcher,
					host,
					...life,
					...end,
					lastOutput,
				},
				count: ENDED_WORKERS.count,
				since: life.endedAt - ENDED_WORKERS.ms,
			});
			recording.add(recorded);
			await recorded.finally(() => recording.delete(recorded));
		},
	};
}
