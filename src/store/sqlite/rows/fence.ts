/**
 * Remembers how far a worker has looked into a queue and found only jobs fenced from it (D16
 * Fence), so that a long run of such jobs is walked once and not by each of its claims (R7).
 */
import { FIRST } from "./row.ts";
import type { Queue } from "./row.ts";

interface Walked {
	/** `queue.fronts` at that time: a job that joined at the front since then was not looked at. */
	fronts: number;
	rank: number;
}

/** The part of a queue that a claim walks: its jobs of one priority. */
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
		/** The rank up to which every waiting job of the lane is fenced from the worker. */
		walked(lane: Lane): number {
			const walked = byWorker.get(lane.worker)?.get(keyOf(lane));
			return walked?.fronts === lane.queue.fronts ? walked.rank : FIRST;
		},

		/** Every waiting job of the lane up to `rank` is fenced from the worker. */
		remember(lane: Lane, rank: number): void {
			let lanes = byWorker.get(lane.worker);
			if (!lanes) byWorker.set(lane.worker, (lanes = new Map()));
			lanes.set(keyOf(lane), { fronts: lane.queue.fronts, rank });
		},

		/** Old attempts of the worker came to be over. */
		forget: (worker: string): void => void byWorker.delete(worker),

		reset: (): void => byWorker.clear(),
	};
}
