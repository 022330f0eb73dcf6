/**
 * What a take with `job_in_progress=0` proves (D16). Another process may use the same worker id, so the take is
 * believed of a job only once the job has given no sign for a while: two ping intervals, and of a worker that never
 * pings until the end of the lease. The open take repeats the question meanwhile.
 */
import { pingIntervalMs } from "../../../core/workers/worker-env.ts";
import type { EpochMs } from "../../../lib/time.ts";
import { releaseJob, type Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";
import { reconcileAttempts } from "./reconcile-attempts.ts";

/** Ping intervals without a sign. */
const SILENT_INTERVALS = 2;

interface IdleTake {
	began: EpochMs;
	intervalMs: number;
	/** Aborted when the take has ended. */
	signal: AbortSignal;
}

/** Returns once the store has decided. What it has not proved lost is asked again until the take ends. */
export async function idleTake(d: JobDeps, worker: Worker, q: Omit<IdleTake, "intervalMs">): Promise<void> {
	// A launched worker is killed for a job that it does not stop, so its word is enough for the stop.
	if (worker.managed) for (const id of [...worker.stopping.keys()]) d.workers.stopSignals.over(worker, id);
	if (worker.held.size === 0 && worker.knownIdle) return;
	const asked = { ...q, intervalMs: pingIntervalMs(d.endpoints.get(worker.endpoint).leaseMs) };
	if (await nothingRuns(d, worker, asked)) return;
	d.background.run("asking again what an idle worker held", askAgain(d, worker, asked));
}

/** False: it may run a job, or another process that uses its id does. */
async function nothingRuns(d: JobDeps, worker: Worker, { began, intervalMs, signal }: IdleTake): Promise<boolean> {
	const { endpoint, id } = worker;
	const silenceMs = d.workers.allViews.pings(worker) ? SILENT_INTERVALS * intervalMs : undefined;
	const { kept, keptOpen } = await reconcileAttempts(d, worker, () =>
		d.retry(() => d.store.workers.idle({ endpoint, worker: id, before: began, silenceMs, now: d.now() }), { signal }),
	);
	// It has reported the others to other servers.
	for (const [job, { handedAt }] of worker.held)
		if (handedAt < began && !kept.includes(job)) releaseJob(worker, job, d.now());
	worker.deniedAt = kept.length > 0 ? began : undefined;
	worker.knownIdle = kept.length + keptOpen.length === 0;
	return worker.knownIdle;
}

async function askAgain(d: JobDeps, worker: Worker, q: IdleTake): Promise<void> {
	do {
		await d.clock.sleep(q.intervalMs, q.signal);
	} while (!q.signal.aborted && !(await nothingRuns(d, worker, q)));
}
