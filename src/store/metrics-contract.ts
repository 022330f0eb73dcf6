/**
 * The part of the contract that keeps what was counted over time (D40); the rules of `store.ts`
 * hold.
 */

/**
 * What one server counted of an endpoint in one step of time; `tally` is JSON text (see
 * `core/tally.ts`). The endpoint "" stands for the server itself.
 */
export interface MetricsRow {
	endpoint: string;
	/** Length of the step, ms. */
	step: number;
	/** Beginning of the step, ms since the epoch. */
	at: number;
	/** Whose count it is: a word of its own for each start of a server. */
	source: string;
	tally: string;
}

export interface MetricsStore {
	/** Adds rows; each replaces the one of the same endpoint, step, beginning and source. */
	put(q: { rows: readonly MetricsRow[] }): Promise<void>;
	/**
	 * Rows of steps of one length that begin from `from` until before `to`, in no order; of these
	 * endpoints, of all without them.
	 */
	read(q: {
		endpoints?: readonly string[] | undefined;
		step: number;
		from: number;
		to: number;
	}): Promise<MetricsRow[]>;
	/**
	 * Removes up to `limit` rows of steps of one length that began before `before`. Tells how many.
	 */
	expire(q: { step: number; before: number; limit: number }): Promise<number>;
}
