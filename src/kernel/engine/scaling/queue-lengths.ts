/** Lengths of the queues, counted again only where something may have changed. */
import type { EpochMs } from "../../lib/time.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { EngineContext } from "../context.ts";

/** How long a count of 0 is used without a signal. Shorter on a shared store, where more signals can be lost. */
const RECOUNT_MS = 30_000;
const RECOUNT_SHARED_MS = 5000;

interface Queue {
	countedAt: EpochMs;
	jobs: number;
	oldestQueuedAt?: EpochMs;
}

export function queueLengths(d: EngineContext & { endpoints: Endpoints; cluster: Cluster }) {
	const recountMs = d.cluster.shared ? RECOUNT_SHARED_MS : RECOUNT_MS;
	const queues = new Map<string, Queue>();
	const stale = new Set<string>();

	function isEmpty(endpoint: string): boolean {
		const last = queues.get(endpoint);
		return last !== undefined && last.jobs === 0 && !stale.has(endpoint) && d.now() - last.countedAt < recountMs;
	}

	return {
		of: (endpoint: string) => queues.get(endpoint),
		/** Counts only if that is due. Throws as the store does. */
		async count(endpoint: string): Promise<void> {
			if (d.endpoints.paused(endpoint)) return void queues.set(endpoint, { countedAt: -Infinity, jobs: 0 });
			if (isEmpty(endpoint)) return;
			const now = d.now();
			stale.delete(endpoint);
			try {
				const waiting = await d.store.jobs.waiting({ endpoint, now });
				queues.set(endpoint, { countedAt: now, ...waiting });
			} catch (error) {
				stale.add(endpoint);
				throw error;
			}
		},
		/** A job was queued, or may have been. */
		changed: (endpoint: string): void => void stale.add(endpoint),
		isEmpty,
	};
}
