/** The audit log in the store's contract (D42): appended to and expired, never changed. */

/** What one caller did as an administrator; contains no secrets. */
export interface AuditEntry {
	at: number;
	/** Id of the caller's key. */
	keyId: string;
	/** Name of the caller's key, as it was. */
	keyName: string;
	/** Address of the other end of the connection. */
	address: string;
	/** Name of the operation, as in `/openapi.json`. */
	action: string;
	/** Ids of what it was about, such as endpoint and worker; empty: the whole service. */
	subject: string[];
	/** `ok`, or the code of the error. */
	result: string;
	/** Number of repeated calls of this key from this address, since an hour at most. */
	count?: number | undefined;
}

export interface AuditStore {
	append(q: { entry: AuditEntry }): Promise<void>;
	/**
	 * Newest first; an absent member filters nothing. Throws a RangeError for a cursor that is not
	 * valid.
	 */
	list(q: {
		keyId?: string | undefined;
		action?: string | undefined;
		cursor?: string | undefined;
		limit: number;
	}): Promise<{ entries: AuditEntry[]; next?: string | undefined }>;
	/** Removes up to `limit` entries before a moment, oldest first; returns their number. */
	expire(q: { before: number; limit: number }): Promise<number>;
}
