/** What each server has admitted lately, for the limits that all share and for restarts (D24). */

export interface CountRow {
	run: string;
	/** The same after a restart. */
	server: string;
	at: number;
	/** JSON text, as in `engine/limits/reported-counts.ts`. */
	counts: string;
}

export interface LimitStore {
	/** Replaces the row of the same start. */
	put(q: CountRow): Promise<void>;
	list(q: { after: number }): Promise<CountRow[]>;
	expire(q: { until: number }): Promise<void>;
}
