/** Counters over time in the store's contract (D40); rules: store.ts. */

/** One server's counters of an endpoint in one time step. */
export interface MetricsRow {
	/** Empty for the server itself. */
	endpoint: string;
	/** Length of the step, ms. */
	step: number;
	/** Start of the step, ms since the epoch. */
	at: number;
	/** Identifies one start of a server. */
	source: string;
	/** JSON text, as in `core/metrics/metric-buckets.ts`. */
	tally: string;
}

export interface MetricsStore {
	/** Adds rows; each replaces the one of the same endpoint, step, start and source. */
	put(q: { rows: readonly MetricsRow[] }): Promise<void>;
	/**
	 * Rows of one step length that start at or after `from` and before `to`, unordered; of all
	 * endpoints when none are named.
	 */
	read(q: { endpoints?: readonly string[] | undefined; step: number; from: number; to: number }): Promise<MetricsRow[]>;
	/**
	 * Removes up to `limit` rows of one step length that start before `before`; returns their number.
	 */
	expire(q: { step: number; before: number; limit: number }): Promise<number>;
}
