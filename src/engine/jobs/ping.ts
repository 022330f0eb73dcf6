/**
 * A worker's ping: it keeps the leases of the jobs that it names, and shows that the others are lost
 * (D16 Lease, protocol B.7).
 */
import type { EpochMs } from "../../core/time.ts";
import { sdkWarning } from "../../core/workers/sdk-version.ts";
import { pingIntervalMs } from "../../core/workers/worker-env.ts";
import type { RetryOptions } from "../availability/retry-while-unavailable.ts";
import { isMainProcessDead } from "../workers/liveness.ts";
import { releaseJob, type Worker } from "../workers/worker-registry.ts";
import type { JobDeps } from "./job-deps.ts";
import { reconcileAttempts, reconcileDead } from "./reconcile-attempts.ts";

export interface Ping {
	/** Jobs that the worker holds. */
	named: string[];
	/** Why it is unhealthy, if it reports so. */
	unhealthy?: string | undefined;
	/** Version of its SDK. */
	version?: string | undefined;
}

type Deps = Pick<
	JobDeps,
	"now" | "events" | "store" | "retry" | "dispatch" | "waiters" | "workers" | "endpoints" | "cluster"
>;

/** Held while the store is unavailable, until the worker hangs up. */
export async function ping(
	d: Deps,
	q: { worker: Worker; said: Ping; signal?: AbortSignal | undefined },
): Promise<void> {
	const { worker, said } = q;
	const now = d.now();
	const intervalMs = pingIntervalMs(d.endpoints.get(worker.endpoint).leaseMs);
	noteVersion(d, worker, said.version);
	if (said.unhealthy !== undefined) return markUnhealthy(d, worker, said.unhealthy);
	worker.pinged = true;
	/** All its calls come here: elsewhere its polls and reports are not known. */
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
	// Handed to it by another server, or reported a moment ago.
	if (said.named.some((id) => !worker.held.has(id))) worker.knownIdle = false;
	// An idle worker has nothing to renew and nothing to lose.
	if (said.named.length === 0 && worker.held.size === 0 && worker.knownIdle) return;
	// A job that was to stop and is not named any more has stopped; the first ping may be older than
	// the request to stop.
	for (const [id, { since }] of worker.stopping) {
		if (!said.named.includes(id) && now - since >= intervalMs) d.workers.stopSignals.over(worker, id);
	}
	const { endpoint, id } = worker;
	// A ping may be older than a take by one interval: it counts for jobs handed out before that. One
	// that was held counts for none: a result may have been held as well.
	const handedBefore = ({ held }: RetryOptions): EpochMs => (held ? -Infinity : now - intervalMs + 1);
	await reconcileAttempts(d, worker, () =>
		d.retry(
			(attempt) =>
				d.store.workers.ping({
					endpoint,
					worker: id,
					named: said.named,
					handedBefore: handedBefore(attempt),
					now: d.now(),
				}),
			{ signal: q.signal },
		),
	);
	if (!callsOnlyHere) forgetReported(worker, said.named, { now, intervalMs });
}

/** Two intervals after its dispatch a job that is not named has been reported to another server. */
function forgetReported(
	worker: Worker,
	named: readonly string[],
	{ now, intervalMs }: { now: EpochMs; intervalMs: number },
): void {
	for (const [id, { handedAt }] of worker.held)
		if (now - handedAt > 2 * intervalMs && !named.includes(id)) releaseJob(worker, id, now);
}

function markUnhealthy({ events }: Deps, worker: Worker, reason: string): void {
	worker.unhealthy = true;
	events.emit("worker.unhealthy", { endpoint: worker.endpoint, worker: worker.id, reason });
}

/** Warns once for each worker of a known problem of its SDK. */
function noteVersion({ events }: Deps, worker: Worker, version: string | undefined): void {
	if (version === undefined || worker.version === version) return;
	worker.version = version;
	const warning = sdkWarning(version);
	if (warning !== undefined) events.emit("worker.warned", { endpoint: worker.endpoint, worker: worker.id, warning });
}
