/**
 * A worker's ping: proof of life for the jobs it names, and against those it does not (D16 Lease,
 * protocol B.7).
 */
import { sdkWarning } from "../../core/workers/sdk-version.ts";
import type { EventBus } from "../../events.ts";
import type {
	RetryOptions,
	RetryWhileUnavailable,
} from "../availability/retry-while-unavailable.ts";
import type { WorkerStore } from "../../store/contract/workers.ts";
import { mainIsGone } from "./liveness.ts";
import type { ReconcileDeps } from "./reconcile-attempts.ts";
import { reconcileAttempts } from "./reconcile-attempts.ts";
import type { Worker } from "./worker-registry.ts";
import { releaseJob } from "./worker-registry.ts";

/** What a ping says. */
export interface Ping {
	/** Jobs it holds. */
	named: string[];
	/** Why it is unfit, where it says so. */
	unhealthy?: string | undefined;
	/** Version of its SDK. */
	version?: string | undefined;
}

interface Deps extends ReconcileDeps {
	events: EventBus;
	hold: RetryWhileUnavailable;
	workerStore: WorkerStore;
	/** What the worker was told. */
	pingIntervalMs: number;
}

/** Takes a ping; held while the store is away, until the worker hangs up. */
export async function ping(
	d: Deps,
	q: { worker: Worker; said: Ping; signal?: AbortSignal | undefined },
): Promise<void> {
	const { worker, said } = q;
	const now = d.now();
	tellVersion(d, worker, said.version);
	if (said.unhealthy !== undefined) {
		worker.unhealthy = true;
		d.events.emit("worker.unhealthy", {
			endpoint: worker.endpoint,
			worker: worker.id,
			reason: said.unhealthy,
		});
		return;
	}
	worker.pinged = true;
	// Where it may poll at another server its polls tell nothing.
	const bound = !d.others() || worker.launcher !== "external";
	if (bound && mainIsGone(worker, { now, pingIntervalMs: d.pingIntervalMs }))
		return await gone(d, worker);
	// Handed to it by another server, or reported a moment ago.
	if (said.named.some((id) => !worker.held.has(id))) worker.knownIdle = false;
	// At rest there is nothing to renew and nothing to miss.
	if (said.named.length === 0 && worker.held.size === 0 && worker.knownIdle) return;
	// A run that was to stop and is no longer named has ended; the first ping may still lag behind
	// the stop.
	for (const [id, stop] of worker.stopping) {
		if (!said.named.includes(id) && now - stop.since >= d.pingIntervalMs)
			d.stopping.over(worker, id);
	}
	const { endpoint, id } = worker;
	// The list of a ping lags a take by up to one interval: from one interval on it counts. What is
	// missing from one that was held counts nothing: its result may be held as well.
	const handedBefore = ({ held }: RetryOptions): number =>
		held ? -Infinity : now - d.pingIntervalMs + 1;
	await reconcileAttempts(d, worker, () =>
		d.hold(
			(again) =>
				d.workerStore.ping({
					endpoint,
					worker: id,
					named: said.named,
					handedBefore: handedBefore(again),
					now: d.now(),
				}),
			{ signal: q.signal },
		),
	);
	if (!bound) forgetEnded(d, worker, said.named, now);
}

/**
 * Two intervals after it was handed out, a job that is not named has been reported to another
 * server.
 */
function forgetEnded(
	d: { pingIntervalMs: number },
	worker: Worker,
	named: readonly string[],
	now: number,
): void {
	for (const [id, { handedAt }] of worker.held)
		if (now - handedAt > 2 * d.pingIntervalMs && !named.includes(id)) releaseJob(worker, id, now);
}

/** Takes back what a worker holds whose main process is gone; its pings renew nothing any more. */
async function gone(d: Deps, worker: Worker): Promise<void> {
	worker.leftAt = undefined;
	worker.unhealthy = true;
	const { endpoint, id } = worker;
	d.events.emit("worker.unhealthy", {
		endpoint,
		worker: id,
		reason:
			"it cut its polls and asks for nothing more, though something goes on pinging for it: its main process is held for dead",
	});
	await reconcileAttempts(d, worker, () =>
		d.hold(() =>
			d.workerStore.idle({ endpoint, worker: id, before: Infinity, dead: true, now: d.now() }),
		),
	);
}

/** Says once for each worker what is known against its SDK. */
function tellVersion(
	{ events }: { events: EventBus },
	worker: Worker,
	version: string | undefined,
): void {
	if (version === undefined || worker.version === version) return;
	worker.version = version;
	const warning = sdkWarning(version);
	if (warning !== undefined)
		events.emit("worker.warned", { endpoint: worker.endpoint, worker: worker.id, warning });
}
