/** `/purge-queue`: every waiting job of an endpoint is removed (spec 3, D11). */
import type { EventBus } from "../../events.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import type { CompletionWaiters } from "./wait.ts";

/**
 * Removes the waiting jobs and tells how many. Whoever waits on one hears of it by the store's
 * signal.
 */
export async function purge(
	d: { jobs: JobStore; now: () => number; events: EventBus },
	endpoint: string,
): Promise<number> {
	const removed = await d.jobs.purge({ endpoint, now: d.now() });
	d.events.emit("queue.purged", { endpoint, removed });
	return removed;
}

/** After a purge: ends the waits on jobs that are no more. */
export async function notifyPurged(
	d: { jobs: JobStore; now: () => number; waiting: CompletionWaiters },
	endpoint: string,
): Promise<void> {
	await Promise.all(
		d.waiting.awaitedAt(endpoint).map(async (id) => {
			if (!(await d.jobs.get({ endpoint, id, now: d.now() }))) d.waiting.gone(id);
		}),
	);
}
