/** What each server has admitted lately, for the limits that all share and for restarts (D24). */

/** The counts of one start of a server. */
export interface CountRow {
	/** Identifies the start. */
	run: string;
	/** Id of the server, the same after a restart. */
	server: string;
	/** When it counted, ms since the epoch. */
	at: number;
	/** JSON text, as in `engine/limits/reported-counts.ts`. */
	counts: string;
}

export interface LimitStore {
	/** Adds a row; it replaces the one of the same start. */
	put(q: CountRow): Promise<void>;
	/** Rows of a time after `after`, unordered. */
	list(q: { after: number }): Promise<CountRow[]>;
	/** Removes rows of a time up to `until`. */
	expire(q: { until: number }): Promise<void>;
}
