/** Applies what the store concludes from a worker's call about its attempts (D16). */
import type { AttemptReconciliation } from "../../../store/contract/workers.ts";
import { type HeldJob, releaseJobById, type Worker } from "../../workers/worker-registry.ts";
import { closeWorker } from "../../workers/worker-transitions.ts";
import type { JobDeps } from "../job-deps.ts";
import type { Undelivered } from "./dispatch.ts";

/** Runs a store operation, applies what its answer says about attempts, and returns the answer. */
export async function reconcileAttempts<Answer extends AttemptReconciliation>(
	d: JobDeps,
	worker: Worker,
	reconcile: () => Promise<Answer>,
): Promise<Answer> {
	const before: ReadonlyMap<string, HeldJob> = new Map(worker.held);
	const answer = await reconcile();
	const { lost, over } = answer;
	for (const id of [...lost, ...over]) {
		releaseJobById(worker, id, { before: before.get(id), now: d.now() });
		d.workers.stopSignals.over(worker, id);
	}
	// A job whose old attempt is over may be dispatched to this very worker now.
	const freed = lost.length + over.length;
	if (freed > 0) d.dispatch.announce(worker.endpoint, freed);
	return answer;
}

/** Marks everything that a dead worker held as lost. */
export async function reconcileDead(
	d: JobDeps,
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

function heldJobs({ held }: Worker): Undelivered[] {
	return [...held].map(([id, { attempt }]) => ({ id, attempt }));
}

/**
 * Applies that an operator has ended an external worker (D36): its jobs return to the queue without a counted loss, and
 * its token is revoked (D16).
 */
export async function workerEnded(d: JobDeps, q: { endpoint: string; id: string }): Promise<void> {
	const { registry } = d.workers;
	// The worker may have called other servers only.
	const worker =
		registry.get(q) ?? (d.cluster.shared ? registry.meet({ ...q, ready: false, now: d.now() }) : undefined);
	if (worker) {
		closeWorker(worker);
		const held = d.store.cluster
			? (await d.store.cluster.running(q)).filter((each) => each.worker === q.id)
			: heldJobs(worker);
		await d.dispatch.requeue(worker, held);
		registry.forget(worker);
	}
	await d.access.tokens.revoke(q.id);
}
