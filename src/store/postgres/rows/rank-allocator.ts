/**
 * Places in queues and lists, made without asking the database: they grow with the time, and among
 * equal times with their order on this server. What servers with slightly different clocks submit
 * at the same moment is in no particular order, as it arrives.
 */

/** Places in each millisecond. */
const PER_MS = 2048;

/** The place that lies so much earlier than another one at the back, ms. */
export function earlier(place: number, ms: number): number {
	return place - ms * PER_MS;
}

/** Gives places. */
export interface RankAllocator {
	/**
	 * A place after all that were given before. `now`: ms since the epoch; `after`: a place that it
	 * must be behind.
	 */
	back(now: number, after?: number): number;
	/** A place before all that were given before, always below 0. */
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
