/**
 * Request limits across all servers that share the store (D24). Not durable: a crash of the
 * database resets the counts.
 */

/** A server's request for one operation of an endpoint. Absent numbers do not limit. */
export interface LimitAsk {
	endpoint: string;
	operation: string;
	/** Requests in any window. */
	per10s?: number | undefined;
	/** Requests in flight at once. */
	concurrent?: number | undefined;
	/** Requests in flight at this server without those of `count`; replaces the previous number. */
	held: number;
	/** Requests to be granted; 0 only reports `held`. */
	count: number;
}

export interface LimitAnswer {
	/** Requests granted and counted. */
	granted: number;
	/** Requests in the window, these included. */
	used: number;
	/** Arrival of the oldest of them, ms since the epoch; absent when there is none. */
	oldest?: number | undefined;
	/**
	 * When fewer than `per10s` will be in the window if no more arrive, ms since the epoch; absent
	 * when that is so now.
	 */
	freeAt?: number | undefined;
}

export interface LimitStore {
	/**
	 * Grants each ask as much as its limits allow, and counts that; answers in the order of the asks.
	 * What this server holds counts for other servers until `now + aliveMs`.
	 */
	take(q: {
		server: string;
		asks: readonly LimitAsk[];
		windowMs: number;
		aliveMs: number;
		now: number;
	}): Promise<LimitAnswer[]>;
	/** Removes entries that no longer count. */
	forget(q: { windowMs: number; now: number }): Promise<void>;
}
