/** How far a worker's claims found only jobs fenced from it (D16 Fence): a long run of them is scanned once (R7). */
import { FIRST, type Queue } from "./row.ts";

interface Walked {
	/** `queue.fronts` at the time of the scan; jobs that joined the front later were not checked. */
	fronts: number;
	rank: number;
}

/** Jobs of one priority. */
export interface Lane {
	worker: string;
	queue: Queue;
	low: 0 | 1;
}

export type Fence = ReturnType<typeof openFence>;

export function openFence() {
	const byWorker = new Map<string, Map<number, Walked>>();
	const keyOf = ({ queue, low }: Lane): number => queue.number * 2 + low;

	return {
		/** Returns the rank up to which every waiting job of the lane is fenced from the worker. */
		walked(lane: Lane): number {
			const walked = byWorker.get(lane.worker)?.get(keyOf(lane));
			return walked?.fronts === lane.queue.fronts ? walked.rank : FIRST;
		},

		remember(lane: Lane, rank: number): void {
			let lanes = byWorker.get(lane.worker);
			if (!lanes) byWorker.set(lane.worker, (lanes = new Map()));
			lanes.set(keyOf(lane), { fronts: lane.queue.fronts, rank });
		},

		forget: (worker: string): void => void byWorker.delete(worker),

		reset: (): void => byWorker.clear(),
	};
}
