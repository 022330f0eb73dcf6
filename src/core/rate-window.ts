/**
 * The sliding window of a rate limit (D24): exact, O(1) per request, and empty while nobody asks.
 */

/** Length of the window, ms (spec 8). */
export const WINDOW_MS = 10_000;

/** Places of the first ring. */
const FIRST_SIZE = 16;

/**
 * Times of the requests admitted in the last 10 s. `now` is ms since the epoch and may go
 * backwards.
 */
export interface RateWindow {
	/** Requests admitted in the window that ends now. */
	used(now: number): number;
	/**
	 * How long until fewer than `limit` requests are left in the window, if no more come, ms; 0 when
	 * so already.
	 */
	wait(limit: number, now: number): number;
	/** Counts a request. */
	add(now: number): void;
}

/**
 * An empty window. A request counts for {@link WINDOW_MS} from its moment on, and not at the end of
 * it.
 */
export function rateWindow(): RateWindow {
	/**
	 * A ring of times, oldest at `head`. It grows with what the window holds, and goes when that is
	 * nothing.
	 */
	let ring: Float64Array | undefined;
	let head = 0;
	let count = 0;
	let last = -Infinity;
	let shift = 0;

	/**
	 * Time that never goes back: after a step of the clock backwards it goes on from where it was, so
	 * that nobody waits for the clock to catch up.
	 */
	function steady(now: number): number {
		if (now < last) shift += last - now;
		last = now;
		return now + shift;
	}

	/** Lets go of what has left the window. */
	function settle(at: number): void {
		if (!ring) return;
		while (count > 0 && ring[head]! <= at - WINDOW_MS) {
			head = head + 1 === ring.length ? 0 : head + 1;
			count -= 1;
		}
		if (count > 0) return;
		ring = undefined;
		head = 0;
	}

	function grown(from: Float64Array | undefined): Float64Array {
		if (!from) return new Float64Array(FIRST_SIZE);
		const to = new Float64Array(from.length * 2);
		to.set(from.subarray(head));
		to.set(from.subarray(0, head), from.length - head);
		head = 0;
		return to;
	}

	return {
		used(now) {
			settle(steady(now));
			return count;
		},
		wait(limit, now) {
			const at = steady(now);
			settle(at);
			if (count < limit) return 0;
			// With a limit of 0 no place ever comes free: the whole window is the least that can be said.
			if (!ring || limit === 0) return WINDOW_MS;
			return ring[(head + count - limit) % ring.length]! + WINDOW_MS - at;
		},
		add(now) {
			const at = steady(now);
			if (!ring || count === ring.length) ring = grown(ring);
			ring[(head + count) % ring.length] = at;
			count += 1;
		},
	};
}
