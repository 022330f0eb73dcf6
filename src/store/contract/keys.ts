/** API keys in the store's contract; rules: store.ts. */

/** An API key, as SHA-256 in hex (D30). */
export interface KeyRow {
	id: string;
	hash: string;
	name: string;
	/** `read`, `write`, `admin`. */
	scopes: string[];
	endpoints?: string[] | undefined;
	createdAt: number;
	/** No longer valid from then on. */
	expiresAt?: number | undefined;
	/** Last recorded use. */
	lastUsedAt?: number | undefined;
	lastUsedAddress?: string | undefined;
	/** The key before the last rotation, valid until then. */
	previous?: { hash: string; until: number } | undefined;
}

export interface KeyStore {
	/** Adds the key; with `ifNone` only when no key exists. False when it was not added. */
	insert(q: { row: KeyRow; ifNone: boolean }): Promise<boolean>;
	/** Finds a key by its hash, or by that of the key before the last rotation. */
	find(q: { hash: string }): Promise<KeyRow | undefined>;
	/** All keys, oldest first. */
	list(): Promise<KeyRow[]>;
	/** Records a use; never sets an earlier time. */
	used(q: { id: string; now: number; address?: string | undefined }): Promise<void>;
	/**
	 * Replaces the hash; the one before is `previous` then. Its sessions end. False when there is no
	 * such key.
	 */
	rotate(q: { id: string; hash: string; previousUntil: number; expiresAt?: number | undefined }): Promise<boolean>;
	/**
	 * Removes a key and its sessions. `last`: the only one with the scope `keep` that has not expired at `now` is not
	 * removed.
	 */
	remove(q: { id: string; now: number; keep?: string | undefined }): Promise<"removed" | "missing" | "last">;
}
