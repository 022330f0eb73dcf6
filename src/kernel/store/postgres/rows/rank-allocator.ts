/**
 * Ranks grow with time and, within a ms, in the order of this server. Jobs submitted to different servers at the same
 * moment have no defined order.
 */

const PER_MS = 2048;

export function earlier(rank: number, ms: number): number {
	return rank - ms * PER_MS;
}

export class RankAllocator {
	#back = 0;
	#front = 0;

	/** Returns a rank above all given before and above `after`. `now`: ms since the epoch. */
	back(now: number, after = 0): number {
		return (this.#back = Math.max(this.#back + 1, now * PER_MS, after + 1));
	}

	/** Returns a rank below all given before, and below 0. */
	front(now: number): number {
		return (this.#front = Math.min(this.#front - 1, -now * PER_MS));
	}
}
