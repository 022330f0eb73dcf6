/** Sliding window of a rate limit (D24): exact, O(1) per request, no memory while idle. */

/** Length of the window, ms (spec 8). */
export const WINDOW_MS = 10_000;

const INITIAL_SIZE = 16;

export type RateWindow = ReturnType<typeof rateWindow>;

/** A request counts for {@link WINDOW_MS}, the end excluded. `now` is ms since the epoch and may go backwards. */
export function rateWindow() {
	/** Times, the oldest at `head`; undefined while the window is empty. */
	let ring: Float64Array | undefined;
	let head = 0;
	let count = 0;
	let last = -Infinity;
	let shift = 0;

	/** Shifts all later times after a backward clock step. */
	function monotonic(now: number): number {
		if (now < last) shift += last - now;
		last = now;
		return now + shift;
	}

	function prune(at: number): void {
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
		if (!from) return new Float64Array(INITIAL_SIZE);
		const to = new Float64Array(from.length * 2);
		to.set(from.subarray(head));
		to.set(from.subarray(0, head), from.length - head);
		head = 0;
		return to;
	}

	return {
		used(now: number): number {
			prune(monotonic(now));
			return count;
		},
		/** Returns the ms until fewer than `limit` requests are in the window, if none are added. */
		wait(limit: number, now: number): number {
			const at = monotonic(now);
			prune(at);
			if (count < limit) return 0;
			// A limit of 0 never admits a request.
			if (!ring || limit === 0) return WINDOW_MS;
			return ring[(head + count - limit) % ring.length]! + WINDOW_MS - at;
		},
		add(now: number, requests = 1): void {
			const at = monotonic(now);
			for (let added = 0; added < requests; added += 1) {
				if (!ring || count === ring.length) ring = grown(ring);
				ring[(head + count) % ring.length] = at;
				count += 1;
			}
		},
		/** Returns the times at which requests were added and their numbers, the oldest first. */
		moments(now: number): [at: number, requests: number][] {
			prune(monotonic(now));
			const moments: [number, number][] = [];
			for (let index = 0; index < count; index += 1) {
				const at = ring![(head + index) % ring!.length]! - shift;
				const last = moments.at(-1);
				if (last?.[0] === at) last[1] += 1;
				else moments.push([at, 1]);
			}
			return moments;
		},
	};
}
