/** Records of what happened: the audit log (D42), counters over time (D40). */

/** What one caller did as an administrator (D42); contains no secrets. */
export interface AuditEntry {
	at: number;
	keyId: string;
	keyName: string;
	address: string;
	/** Name of the operation in `/openapi.json`. */
	action: string;
	/** Ids, such as endpoint and worker; empty: the whole service. */
	subject: string[];
	/** `ok`, or the code of the error. */
	result: string;
	/** Absent in entries of earlier versions. */
	requestId?: string | undefined;
	/** Calls of this kind within an hour at most, by this key from this address. */
	count?: number | undefined;
}

export interface AuditStore {
	append(q: { entry: AuditEntry }): Promise<void>;
	/** Newest first. Throws a RangeError for a cursor that is not valid. */
	list(q: {
		keyId?: string | undefined;
		action?: string | undefined;
		cursor?: string | undefined;
		limit: number;
	}): Promise<{ entries: AuditEntry[]; next?: string | undefined }>;
	expire(q: { before: number; limit: number }): Promise<number>;
}

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
