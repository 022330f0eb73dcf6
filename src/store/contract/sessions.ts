/** Sessions of the console in the store's contract (D31); rules: store.ts. */

export interface SessionRow {
	id: string;
	/** SHA-256 of the token in the cookie, in hex. */
	hash: string;
	/** SHA-256 of the page token, in hex. */
	page: string;
	/** The key that it acts for. */
	keyId: string;
	/** SHA-256 of its token with the key's hash: the key may change under its id. */
	mark: string;
	/** Whether a sign-in link began it, not the key itself. */
	byLink: boolean;
	createdAt: number;
	/** Ends then, however much it is used. */
	until: number;
	/** Last recorded use. */
	lastUsedAt: number;
	/** Other end of the connection of that use. */
	address: string;
	/** Browser or program that signed in. */
	client: string;
}

export interface SessionStore {
	/**
	 * Adds one. Removes those of all keys that are over at `now` or were last used before
	 * `usedSince`, and of its key those beyond `atMost`, unused longest first.
	 */
	insert(q: { row: SessionRow; atMost: number; usedSince: number; now: number }): Promise<void>;
	/** Finds a session by the hash of its token. */
	find(q: { hash: string }): Promise<SessionRow | undefined>;
	/** All of them, last used first. */
	list(): Promise<SessionRow[]>;
	/** Records a use; never sets an earlier time. */
	used(q: { id: string; now: number; address: string }): Promise<void>;
	/** False when there is none. */
	remove(q: { id: string }): Promise<boolean>;
	/** Removes all, or those of a key, but `except`; returns their number. */
	removeAll(q: { keyId?: string | undefined; except?: string | undefined }): Promise<number>;
}
