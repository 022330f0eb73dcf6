/** Lengths of the queues, counted again only where something may have changed. */
import type { EpochMs } from "../../core/time.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { EngineContext } from "../context.ts";

/** How long a count of 0 is used without a hint, ms; shorter where other servers give hints too. */
const RECOUNT_MS = 30_000;
const RECOUNT_SHARED_MS = 5000;

export interface Queue {
	countedAt: EpochMs;
	jobs: number;
	oldestQueuedAt?: EpochMs;
}

export interface QueueLengths {
	/** Returns the queue as last counted. */
	of(endpoint: string): Queue | undefined;
	/** Counts, if that is due. Throws as the store does. */
	count(endpoint: string): Promise<void>;
	/** A job was queued there, or may have been. */
	changed(endpoint: string): void;
	/** Whether the last count found no job, and is to be used. */
	isEmpty(endpoint: string): boolean;
}

export function queueLengths(
	d: Pick<EngineContext, "now" | "store"> & {
		endpoints: Pick<Endpoints, "paused">;
		shared: boolean;
	},
): QueueLengths {
	const recountMs = d.shared ? RECOUNT_SHARED_MS : RECOUNT_MS;
	const queues = new Map<string, Queue>();
	/** Endpoints with a hint since their last count. */
	const hinted = new Set<string>();

	function isEmpty(endpoint: string): boolean {
		const last = queues.get(endpoint);
		return last !== undefined && last.jobs === 0 && !hinted.has(endpoint) && d.now() - last.countedAt < recountMs;
	}

	return {
		of: (endpoint) => queues.get(endpoint),
		async count(endpoint) {
			if (d.endpoints.paused(endpoint)) return void queues.set(endpoint, { countedAt: -Infinity, jobs: 0 });
			if (isEmpty(endpoint)) return;
			const now = d.now();
			hinted.delete(endpoint);
			try {
				const waiting = await d.store.jobs.waiting({ endpoint, now });
				queues.set(endpoint, { countedAt: now, ...waiting });
			} catch (error) {
				hinted.add(endpoint);
				throw error;
			}
		},
		changed: (endpoint) => void hinted.add(endpoint),
		isEmpty,
	};
}
