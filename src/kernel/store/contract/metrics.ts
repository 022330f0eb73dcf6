/** Counters over time (D40). */

export interface MetricsRow {
	/** Empty for the server itself. */
	endpoint: string;
	step: number;
	/** Start of the step, ms since the epoch. */
	at: number;
	/** Identifies one start of a server. */
	source: string;
	/** JSON text, as in `core/metrics/metric-buckets.ts`. */
	tally: string;
}

export interface MetricsStore {
	/** Each replaces the row of the same endpoint, step, start and source. */
	put(q: { rows: readonly MetricsRow[] }): Promise<void>;
	/** Rows that start at or after `from` and before `to`, unordered; of all endpoints when none are named. */
	read(q: { endpoints?: readonly string[] | undefined; step: number; from: number; to: number }): Promise<MetricsRow[]>;
	expire(q: { step: number; before: number; limit: number }): Promise<number>;
}
