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
