/**
 * Handles a take with `job_in_progress=0` (D16). Another process may use the same worker id, so the lease decides about
 * a job that runs; the store only stops extending it by open polls. An old attempt has ended if no ping has named it
 * for a lease. While the take is open, the question is repeated, also for jobs whose leases end.
 */
import { pingIntervalMs } from "../../../core/workers/worker-env.ts";
import type { EpochMs } from "../../../lib/time.ts";
import { releaseJob, type Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";
import { reconcileAttempts } from "./reconcile-attempts.ts";

interface IdleTake {
	began: EpochMs;
	/** Aborted when the take has ended. */
	signal: AbortSignal;
}

/** Ends the stops of a launched worker: it is killed for a job that it does not stop, so its word is enough. */
export function endStops(d: JobDeps, worker: Worker): void {
	if (worker.managed) for (const id of [...worker.stopping.keys()]) d.workers.stopSignals.over(worker, id);
}

/** Whether the store has already decided that this worker runs nothing. */
export function isKnownIdle(worker: Worker): boolean {
	return worker.held.size === 0 && worker.knownIdle;
}

/**
 * Returns when the store has decided. Attempts that it could not prove to have ended are checked again until the take
 * ends.
 */
export async function idleTake(d: JobDeps, worker: Worker, q: IdleTake): Promise<void> {
	if (await nothingRuns(d, worker, q)) return;
	d.background.run("asking again what an idle worker held", askAgain(d, worker, q));
}

/** Whether the worker runs nothing. False also if another process with its id may run a job. */
async function nothingRuns(d: JobDeps, worker: Worker, { began, signal }: IdleTake): Promise<boolean> {
	const { endpoint, id } = worker;
	const pings = d.workers.allViews.pings(worker);
	const { kept, keptOpen } = await reconcileAttempts(d, worker, () =>
		d.retry(() => d.store.workers.idle({ endpoint, worker: id, before: began, pings, now: d.now() }), { signal }),
	);
	// Jobs that the store does not list were reported to other servers.
	for (const [job, { handedAt }] of worker.held)
		if (handedAt < began && !kept.includes(job)) releaseJob(worker, job, d.now());
	worker.deniedAt = kept.length > 0 ? began : undefined;
	worker.knownIdle = kept.length + keptOpen.length === 0;
	return worker.knownIdle;
}

async function askAgain(d: JobDeps, worker: Worker, q: IdleTake): Promise<void> {
	const pauseMs = pingIntervalMs(d.endpoints.get(worker.endpoint).leaseMs);
	do {
		await d.clock.sleep(pauseMs, q.signal);
	} while (!q.signal.aborted && !(await nothingRuns(d, worker, q)));
}
