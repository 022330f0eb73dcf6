/** A worker's ping keeps the leases of the jobs that it names; the others are lost (D16 Lease, protocol B.7). */
import type { EpochMs } from "../../../lib/time.ts";
import { isShownAsShared } from "../../../core/workers/shared-id.ts";
import { pingIntervalMs } from "../../../core/workers/worker-env.ts";
import type { RetryOptions } from "../../availability/retry-while-unavailable.ts";
import { isMainProcessDead } from "../../workers/liveness.ts";
import { forgetClaims, releaseJob, type Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";
import { reconcileAttempts, reconcileDead } from "./reconcile-attempts.ts";

export interface Ping {
	named: string[];
	unhealthy?: string | undefined;
	version?: string | undefined;
}

/** Handles a ping; while the store is unavailable, it waits until the worker hangs up. */
export async function ping(
	d: JobDeps,
	q: { worker: Worker; said: Ping; signal?: AbortSignal | undefined },
): Promise<void> {
	const { worker, said } = q;
	const now = d.now();
	const intervalMs = pingIntervalMs(d.endpoints.get(worker.endpoint).leaseMs);
	worker.version = said.version ?? worker.version;
	if (said.unhealthy !== undefined) return markUnhealthy(d, worker, said.unhealthy);
	worker.pinged = true;
	worker.pingless = false;
	/** Otherwise polls and reports of the worker may reach other servers. */
	const callsOnlyHere = !d.cluster.others() || worker.managed;
	if (callsOnlyHere && isMainProcessDead(worker, { now, pingIntervalMs: intervalMs })) {
		worker.leftAt = undefined;
		markUnhealthy(
			d,
			worker,
			"it cut its polls and began no new ones, though it is still pinged for: its main process counts as dead",
		);
		return await reconcileDead(d, worker);
	}
	// Another server sent the job to the worker, or the job was reported a moment ago.
	if (said.named.some((id) => !worker.held.has(id))) worker.knownIdle = false;
	// An idle worker has nothing to renew and nothing to lose.
	if (said.named.length === 0 && worker.held.size === 0 && worker.knownIdle) return;
	// A job that was to stop and is not named any more has stopped, unless the ping is older than the request to stop, or
	// another process with this worker id named it.
	for (const [id, request] of worker.stopping) {
		if (said.named.includes(id)) request.namedAt = now;
		else if (now - Math.max(request.since, request.namedAt ?? -Infinity) >= intervalMs)
			d.workers.stopSignals.over(worker, id);
	}
	const { endpoint, id } = worker;
	// A ping may be older than a take by one interval: it counts for jobs handed out before that. One that was held
	// counts for none, because a result may have been held as well. Nor does it count for jobs of a claim that the store
	// has not answered, or answered late: the worker did not have them when it wrote the ping.
	forgetClaims(worker, now);
	const claimed = Math.min(...[...worker.claims].map(({ since }) => since));
	const handedBefore = ({ held }: RetryOptions): EpochMs =>
		held ? -Infinity : Math.min(now - intervalMs + 1, claimed);
	const { shared } = await reconcileAttempts(d, worker, () =>
		d.retry(
			(attempt) =>
				d.store.workers.ping({
					endpoint,
					worker: id,
					named: said.named,
					handedBefore: handedBefore(attempt),
					intervalMs,
					now: d.now(),
				}),
			{ signal: q.signal },
		),
	);
	if (shared) noteSecondProcess(d, worker, now);
	if (!callsOnlyHere) forgetReported(worker, said.named, { now, intervalMs });
}

/** A job that is not named two intervals after its dispatch has been reported to another server. */
function forgetReported(
	worker: Worker,
	named: readonly string[],
	{ now, intervalMs }: { now: EpochMs; intervalMs: number },
): void {
	for (const [id, { handedAt }] of worker.held)
		if (now - handedAt > 2 * intervalMs && !named.includes(id)) releaseJob(worker, id, now);
}

/** Marks a worker as unhealthy: it gets no more jobs, and a launched one is replaced as after a crash. */
export function markUnhealthy({ events }: JobDeps, worker: Worker, reason: string): void {
	worker.unhealthy = true;
	events.emit("worker.unhealthy", { endpoint: worker.endpoint, worker: worker.id, reason });
}

function noteSecondProcess({ events }: JobDeps, worker: Worker, now: EpochMs): void {
	const isKnown = isShownAsShared(worker.shared, now);
	worker.shared = { since: isKnown ? worker.shared!.since : now, at: now };
	if (!isKnown) events.emit("worker.shared", { endpoint: worker.endpoint, worker: worker.id });
}
