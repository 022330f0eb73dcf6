/**
 * The stop of a server (D34): running jobs get their time, then those of our own workers return to
 * the queue.
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import { releaseJob } from "../workers/worker-registry.ts";
import type { WorkerRegistry } from "../workers/worker-registry.ts";

interface Deps {
	clock: Clock;
	now: () => number;
	events: EventBus;
	jobs: JobStore;
	workers: WorkerRegistry;
}

/**
 * Forgets the jobs that workers have reported to other servers: nobody need wait for them. What the
 * store cannot tell is kept.
 */
export async function forgetReported({
	now,
	jobs,
	workers,
}: Pick<Deps, "now" | "jobs" | "workers">): Promise<void> {
	const running = await jobs.running().catch(() => undefined);
	if (!running) return;
	const open = new Set(running.map(({ endpoint, id, worker }) => `${endpoint} ${id} ${worker}`));
	for (const worker of workers.all()) {
		for (const id of [...worker.held.keys()])
			if (!open.has(`${worker.endpoint} ${id} ${worker.id}`)) releaseJob(worker, id, now());
	}
}

/**
 * Resolves when no worker holds a job, or after `ms`. With `others` an external worker goes on at
 * another server.
 */
export async function waitUntilIdle(
	{
		clock,
		events,
		workers,
		others,
	}: Pick<Deps, "clock" | "events" | "workers"> & { others: boolean },
	ms: number,
): Promise<void> {
	const held = (): boolean =>
		[...workers.all()].some(
			(worker) => worker.held.size > 0 && !(others && worker.launcher === "external"),
		);
	if (!held()) return;
	const over = new AbortController();
	const look = (): void => {
		if (!held()) over.abort();
	};
	const remove = [
		events.on("job.settled", look),
		events.on("worker.exited", look),
		events.on("job.returned", look),
	];
	await clock.sleep(ms, over.signal);
	for (const each of remove) each();
}

/** Returns what still runs to the queue, without counting a loss. */
export async function returnRunning({
	now,
	events,
	jobs,
	workers,
}: Omit<Deps, "clock">): Promise<void> {
	const running = await jobs.running().catch(() => []);
	for (const { endpoint, id, worker, attempt } of running) {
		// A worker of somebody else goes on without us: its job would run twice (D16 Outages).
		if ((workers.get({ endpoint, id: worker })?.launcher ?? "external") === "external") continue;
		const moved = await jobs
			.move({ endpoint, id, on: "release", attempt, now: now() })
			.catch(() => undefined);
		if (moved?.ok) events.emit("job.returned", { endpoint, id, worker, why: "released" });
	}
}
