/**
 * What follows from word about a worker's attempts: jobs taken back are offered anew, old attempts
 * known to be over free their jobs (D16).
 */
import type { EventBus } from "../../events.ts";
import type { AttemptReconciliation } from "../../store/contract/workers.ts";
import type { Dispatch } from "../jobs/dispatch.ts";
import type { StopSignals } from "./stop-signals.ts";
import type { CompletionWaiters } from "../jobs/wait.ts";
import type { HeldJob, Worker } from "./worker-registry.ts";
import { releaseJobById } from "./worker-registry.ts";

export interface ReconcileDeps {
	now: () => number;
	events: EventBus;
	dispatch: Dispatch;
	waiting: CompletionWaiters;
	stopping: StopSignals;
	/**
	 * Whether other servers live: they may have handed the worker what it runs, and its words may go
	 * to them.
	 */
	others: () => boolean;
}

/** Asks for a {@link AttemptReconciliation} of this worker, and acts on it. */
export async function reconcileAttempts(
	d: ReconcileDeps,
	worker: Worker,
	ask: () => Promise<AttemptReconciliation>,
): Promise<void> {
	const before: ReadonlyMap<string, HeldJob> = new Map(worker.held);
	const { lost, over } = await ask();
	const { endpoint } = worker;
	for (const id of [...lost, ...over]) {
		releaseJobById(worker, id, { before: before.get(id), now: d.now() });
		d.stopping.over(worker, id);
	}
	// A job whose old attempt is over may go to this very worker now.
	if (lost.length + over.length > 0) d.dispatch.announce(endpoint, lost.length + over.length);
}
