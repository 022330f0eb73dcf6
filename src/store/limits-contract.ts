/**
 * The part of the contract that counts requests of servers that share the store (D24); the rules of
 * `store.ts` hold, but for the disk.
 */

/** What a server asks of one operation of an endpoint (D24). Absent numbers do not limit. */
export interface LimitAsk {
	endpoint: string;
	operation: string;
	/** Requests in any window. */
	per10s?: number | undefined;
	/** Requests under way at once. */
	concurrent?: number | undefined;
	/**
	 * Requests under way at this server without those that ask now: it replaces what was known of it.
	 */
	held: number;
	/** Requests that ask to go on; with 0 only `held` is told. */
	count: number;
}

/** What became of it. */
export interface LimitAnswer {
	/** So many may go on, and are counted. */
	granted: number;
	/** Requests in the window, these included. */
	used: number;
	/** When the oldest of them came, ms since the epoch; absent when there is none. */
	oldest?: number | undefined;
	/**
	 * When fewer than `per10s` will be in the window if no more come, ms since the epoch; absent when
	 * it is so already.
	 */
	freeAt?: number | undefined;
}

/**
 * Counts requests of all servers that share the store together (D24). Not on disk: a crash of the
 * database forgets them.
 */
export interface LimitStore {
	/**
	 * Grants each ask as much as its limits allow, and counts that. What this server holds counts for
	 * the others until `now + aliveMs`. The answers are in the order of the asks.
	 */
	take(q: {
		server: string;
		asks: readonly LimitAsk[];
		windowMs: number;
		aliveMs: number;
		now: number;
	}): Promise<LimitAnswer[]>;
	/** Removes what counts no more. */
	forget(q: { windowMs: number; now: number }): Promise<void>;
}
