/** Sessions of the console (D31). */

export interface SessionRow {
	id: string;
	/** SHA-256 of the token in the cookie, hex. */
	hash: string;
	/** SHA-256 of the page token, hex. */
	page: string;
	keyId: string;
	/** SHA-256 of its token with the key's hash: the key may change under its id. */
	mark: string;
	/** Whether a sign-in link began it, not the key itself. */
	byLink: boolean;
	createdAt: number;
	/** Ends then, however much it is used. */
	until: number;
	lastUsedAt: number;
	/** Other end of the connection of the last use. */
	address: string;
	/** Browser or program that signed in. */
	client: string;
}

export interface SessionStore {
	/**
	 * Removes sessions that are over at `now` or were last used before `usedSince`, and those of its key beyond `atMost`,
	 * unused longest first.
	 */
	insert(q: { row: SessionRow; atMost: number; usedSince: number; now: number }): Promise<void>;
	find(q: { hash: string }): Promise<SessionRow | undefined>;
	list(): Promise<SessionRow[]>;
	used(q: { id: string; now: number; address: string }): Promise<void>;
	remove(q: { id: string }): Promise<boolean>;
	/** Removes those of all keys or of one, but `except`; returns their number. */
	removeAll(q: { keyId?: string | undefined; except?: string | undefined }): Promise<number>;
}
