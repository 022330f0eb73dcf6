/** The steps of a stop (D34). */
import type { Clock } from "../../system/clock.ts";
import { releaseJob, type Worker } from "../workers/worker-registry.ts";
import { closeWorker } from "../workers/worker-transitions.ts";
import type { Domains } from "./domains.ts";

/** Maximum time that a stop which leaves its workers spends on their jobs, and on their platforms. */
export const LEAVE_MS = 1000;

export async function waitAtMost(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
	const over = new AbortController();
	await Promise.race([work, clock.sleep(ms, over.signal)]).finally(() => over.abort());
}

export function drainWorkers({ workers }: Domains): void {
	for (const worker of workers.registry.all()) closeWorker(worker);
}

/** Forgets jobs that workers have reported to other servers; none if the store does not answer. */
export async function forgetReported({ now, store, workers }: Domains): Promise<void> {
	const running = await store.jobs.running().catch(() => undefined);
	if (!running) return;
	const open = new Set(running.map(({ endpoint, id, worker }) => `${endpoint} ${id} ${worker}`));
	for (const worker of workers.registry.all()) {
		for (const id of [...worker.held.keys()])
			if (!open.has(`${worker.endpoint} ${id} ${worker.id}`)) releaseJob(worker, id, now());
	}
}

export async function waitUntilIdle(
	{ clock, events, workers }: Domains,
	{ ms, of }: { ms: number; of: (worker: Worker) => boolean },
): Promise<void> {
	const isBusy = (): boolean => [...workers.registry.all()].some((worker) => worker.held.size > 0 && of(worker));
	if (!isBusy()) return;
	const idle = new AbortController();
	const check = (): void => {
		if (!isBusy()) idle.abort();
	};
	const remove = events.on(["job.settled", "worker.exited", "job.returned"], check);
	await clock.sleep(ms, idle.signal);
	remove();
}

/** Counts no loss. */
export async function requeueRunning(
	{ now, events, store, workers }: Domains,
	ends: (worker: Worker) => boolean,
): Promise<void> {
	const running = await store.jobs.running().catch(() => []);
	for (const { endpoint, id, worker, attempt } of running) {
		const runner = workers.registry.get({ endpoint, id: worker });
		// One that continues without Sluice would run its job twice (D16 Outages).
		if (!runner || !ends(runner)) continue;
		const moved = await store.jobs.move({ endpoint, id, on: "release", attempt, now: now() }).catch(() => undefined);
		if (moved?.ok) events.emit("job.returned", { endpoint, id, worker, why: "released" });
	}
}

export async function stopWorkers(
	{ events, endpoints, workers: { registry, launcher } }: Domains,
	ends: (worker: Worker) => boolean,
): Promise<void> {
	await Promise.all(
		[...registry.all()]
			.filter(ends)
			.map((worker) =>
				launcher
					.stop(worker, { why: "the service was shutting down", graceMs: endpoints.stopGraceMs(worker.endpoint) })
					.catch((error: unknown) => events.emit("fault", { where: `stopping ${worker.id}`, error })),
			),
	);
	await launcher.close();
}
