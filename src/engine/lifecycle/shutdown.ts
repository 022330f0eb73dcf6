/** The steps of a stop (D34): running jobs get time, those of workers that end are then requeued. */
import type { Clock } from "../../clock.ts";
import { endPolls, releaseJob, type Worker } from "../workers/worker-registry.ts";
import type { Domains } from "./domains.ts";

/** Maximum time that a stop which leaves its workers spends on their jobs, and on their platforms, ms. */
export const LEAVE_MS = 1000;

/** Resolves with `work`, or after `ms`. */
export async function waitAtMost(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
	const over = new AbortController();
	await Promise.race([work, clock.sleep(ms, over.signal)]).finally(() => over.abort());
}

/** No worker gets another job. */
export function drainWorkers({ workers }: Pick<Domains, "workers">): void {
	for (const worker of workers.registry.all()) {
		worker.draining = true;
		endPolls(worker);
	}
}

/** Forgets jobs that workers have reported to other servers; all stay if the store does not answer. */
export async function forgetReported({
	now,
	store,
	workers,
}: Pick<Domains, "now" | "store" | "workers">): Promise<void> {
	const running = await store.jobs.running().catch(() => undefined);
	if (!running) return;
	const open = new Set(running.map(({ endpoint, id, worker }) => `${endpoint} ${id} ${worker}`));
	for (const worker of workers.registry.all()) {
		for (const id of [...worker.held.keys()])
			if (!open.has(`${worker.endpoint} ${id} ${worker.id}`)) releaseJob(worker, id, now());
	}
}

/** Resolves when no worker of these holds a job, or after `ms`. */
export async function waitUntilIdle(
	{ clock, events, workers }: Pick<Domains, "clock" | "events" | "workers">,
	{ ms, of }: { ms: number; of: (worker: Worker) => boolean },
): Promise<void> {
	const isBusy = (): boolean => [...workers.registry.all()].some((worker) => worker.held.size > 0 && of(worker));
	if (!isBusy()) return;
	const idle = new AbortController();
	const check = (): void => {
		if (!isBusy()) idle.abort();
	};
	const remove = [events.on("job.settled", check), events.on("worker.exited", check), events.on("job.returned", check)];
	await clock.sleep(ms, idle.signal);
	for (const each of remove) each();
}

/** Requeues the jobs of these workers without counting a loss. */
export async function requeueRunning(
	{ now, events, store, workers }: Pick<Domains, "now" | "events" | "store" | "workers">,
	ends: (worker: Worker) => boolean,
): Promise<void> {
	const running = await store.jobs.running().catch(() => []);
	for (const { endpoint, id, worker, attempt } of running) {
		const runner = workers.registry.get({ endpoint, id: worker });
		// One that continues without Sluice: its job would run twice (D16 Outages).
		if (!runner || !ends(runner)) continue;
		const moved = await store.jobs.move({ endpoint, id, on: "release", attempt, now: now() }).catch(() => undefined);
		if (moved?.ok) events.emit("job.returned", { endpoint, id, worker, why: "released" });
	}
}

/** Stops these workers; an error of one does not keep the others. */
export async function stopWorkers(
	{ events, endpoints, workers: { registry, launcher } }: Pick<Domains, "events" | "endpoints" | "workers">,
	ends: (worker: Worker) => boolean,
): Promise<void> {
	await Promise.all(
		[...registry.all()].filter(ends).map((worker) =>
			launcher
				.stop(worker, {
					why: "the service stops",
					graceMs: endpoints.stopGraceMs(worker.endpoint),
				})
				.catch((error: unknown) => events.emit("fault", { where: `stopping ${worker.id}`, error })),
		),
	);
	await launcher.close();
}
