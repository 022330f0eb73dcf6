/**
 * Allocates ranks for queues and lists without the database. They grow with time and, within a ms,
 * in the order of this server. Jobs submitted to different servers at the same moment have no
 * defined order.
 */

/** Ranks per millisecond. */
const PER_MS = 2048;

/** The rank `ms` earlier than a rank at the back. */
export function earlier(rank: number, ms: number): number {
	return rank - ms * PER_MS;
}

export interface RankAllocator {
	/** A rank above all given before and above `after`. `now`: ms since the epoch. */
	back(now: number, after?: number): number;
	/** A rank below all given before, always below 0. */
	front(now: number): number;
}

export function openRankAllocator(): RankAllocator {
	let back = 0;
	let front = 0;
	return {
		back: (now, after = 0) => (back = Math.max(back + 1, now * PER_MS, after + 1)),
		front: (now) => (front = Math.min(front - 1, -now * PER_MS)),
	};
}
