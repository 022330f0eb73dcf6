/** `/purge-queue`: every waiting job of an endpoint is removed (spec 3, D11). */
import type { JobDeps } from "./job-deps.ts";

/** Returns how many. The store's signal ends the waits for them ({@link notifyPurged}). */
export async function purge(d: Pick<JobDeps, "store" | "now" | "events">, endpoint: string): Promise<number> {
	const removed = await d.store.jobs.purge({ endpoint, now: d.now() });
	d.events.emit("queue.purged", { endpoint, removed });
	return removed;
}

/** After a purge: ends the waits for jobs that do not exist any more. */
export async function notifyPurged(d: Pick<JobDeps, "store" | "now" | "waiters">, endpoint: string): Promise<void> {
	await Promise.all(
		d.waiters.awaitedAt(endpoint).map(async (id) => {
			if (!(await d.store.jobs.get({ endpoint, id, now: d.now(), large: "size" }))) d.waiters.jobRemoved(id);
		}),
	);
}
