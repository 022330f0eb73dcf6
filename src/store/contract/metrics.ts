/** Counters over time in the store's contract (D40). The rules of the contract: store.ts. */

/** What one server counted of an endpoint in one step of time. */
export interface MetricsRow {
	/** Empty for the server itself. */
	endpoint: string;
	/** Length of the step, ms. */
	step: number;
	/** Beginning of the step, ms since the epoch. */
	at: number;
	/** Names one start of a server. */
	source: string;
	/** JSON text, as in `core/metrics/metric-buckets.ts`. */
	tally: string;
}

export interface MetricsStore {
	/** Adds rows; each replaces the one of the same endpoint, step, beginning and source. */
	put(q: { rows: readonly MetricsRow[] }): Promise<void>;
	/**
	 * Rows of steps of one length that begin from `from` until before `to`, in no order; of all
	 * endpoints when none are named.
	 */
	read(q: {
		endpoints?: readonly string[] | undefined;
		step: number;
		from: number;
		to: number;
	}): Promise<MetricsRow[]>;
	/** Removes up to `limit` rows of one step length from before `before`; returns their number. */
	expire(q: { step: number; before: number; limit: number }): Promise<number>;
}
