/** Keeps what is known of launched workers that have ended (D47). */
import { ENDED_WORKERS, type EndedWorker, endOf, errorLine, type WorkerExit } from "../../core/workers/ended-worker.ts";
import type { EngineContext } from "../context.ts";
import type { StartProblems } from "./start-problems.ts";
import { roomOf, type Worker } from "./worker-registry.ts";

export type EndedWorkers = ReturnType<typeof endedWorkers>;

export function endedWorkers({ store, now, problems }: EngineContext & { problems: StartProblems }) {
	const recording = new Set<Promise<void>>();
	return {
		/** Those that ended last come first. */
		async of(endpoint: string, limit: number = ENDED_WORKERS.count): Promise<EndedWorker[]> {
			await Promise.allSettled(recording);
			return await store.workers.ended({ endpoint, since: now() - ENDED_WORKERS.ms, limit });
		},
		/** `lastOutput`: what may be shown (`launch/shown-text.ts`). */
		async record(worker: Worker, exit: WorkerExit & { lastOutput: string }): Promise<void> {
			const { id, endpoint, launcher, host, createdAt, readyAt, ending, warmup } = worker;
			const life = { createdAt, readyAt, endedAt: now() };
			const end = endOf(exit, { ...life, ending, warmup });
			const line = errorLine(exit.lastOutput);
			// A worker that was stopped without a fault explains nothing.
			if (end.code !== undefined)
				problems.set(endpoint, { printed: line === undefined ? line : { code: end.code, line } });
			const recorded = store.workers.end({
				worker: { id, endpoint, launcher, host, ...life, room: roomOf(worker), ...end, lastOutput: exit.lastOutput },
				count: ENDED_WORKERS.count,
				since: life.endedAt - ENDED_WORKERS.ms,
			});
			recording.add(recorded);
			await recorded.finally(() => recording.delete(recorded));
		},
	};
}
