/**
 * Applies what the store concludes from a worker's call about its attempts (D16): lost jobs are
 * queued again, and attempts that are over free their jobs.
 */
import type { AttemptReconciliation } from "../../store/contract/workers.ts";
import { type HeldJob, releaseJobById, type Worker } from "../workers/worker-registry.ts";
import type { JobDeps } from "./job-deps.ts";

export type ReconcileDeps = Pick<JobDeps, "now" | "dispatch" | "workers">;

export async function reconcileAttempts(
	d: ReconcileDeps,
	worker: Worker,
	reconcile: () => Promise<AttemptReconciliation>,
): Promise<void> {
	const before: ReadonlyMap<string, HeldJob> = new Map(worker.held);
	const { lost, over } = await reconcile();
	for (const id of [...lost, ...over]) {
		releaseJobById(worker, id, { before: before.get(id), now: d.now() });
		d.workers.stopSignals.over(worker, id);
	}
	// A job whose old attempt is over may be dispatched to this very worker now.
	const freed = lost.length + over.length;
	if (freed > 0) d.dispatch.announce(worker.endpoint, freed);
}

/** The worker's main process is dead, ended by `workerEnd`: everything that it held is lost. */
export async function reconcileDead(
	d: ReconcileDeps & Pick<JobDeps, "store" | "retry">,
	worker: Worker,
	{ workerEnd, signal }: { workerEnd?: string | undefined; signal?: AbortSignal } = {},
): Promise<void> {
	const { endpoint, id } = worker;
	await reconcileAttempts(d, worker, () =>
		d.retry(
			() =>
				d.store.workers.idle({
					endpoint,
					worker: id,
					before: Infinity,
					dead: true,
					workerEnd,
					now: d.now(),
				}),
			{ signal },
		),
	);
}
