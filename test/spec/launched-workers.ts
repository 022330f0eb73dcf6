/** What launched workers of a test do by its hand, while its clock moves: their processes only run. */
import type { Worker } from "../../src/kernel/engine/workers/worker-registry.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import type { TestService } from "../support/service.ts";

/** `site`: of the test that runs. `stepMs`: of time that passes. */
export function launchedWorkers(site: () => { clock: ManualClock; service: TestService }, stepMs = 50) {
	async function pass(ms: number): Promise<void> {
		const { clock, service } = site();
		for (let left = ms; left > 0; left -= stepMs) {
			await clock.advance(stepMs);
			await service.engine.ready();
		}
	}

	/** The worker calls, and takes a job, whose id is returned. */
	async function takes(worker: Worker): Promise<string> {
		const { engine } = site().service;
		engine.workers.recordCall(worker);
		const { signal } = new AbortController();
		const [job] = await engine.jobs.take({ worker, limit: 1, idle: false, signal });
		return job!.id;
	}

	const reports = (worker: Worker, id: string): Promise<unknown> =>
		site().service.engine.jobs.report({ worker, id, report: { kind: "end", on: "complete", restart: false } });

	return {
		pass,
		async passUntil(isSo: () => boolean): Promise<void> {
			while (!isSo()) await pass(stepMs);
		},
		of: (endpoint: string): Worker[] => [...site().service.engine.workers.of(endpoint)],
		takes,
		reports,
		works: async (worker: Worker): Promise<unknown> => reports(worker, await takes(worker)),
	};
}
