/** `hash`: SHA-256 in hex (D30). */
export interface KeyRow {
	id: string;
	hash: string;
	name: string;
	scopes: string[];
	endpoints?: string[] | undefined;
	createdAt: number;
	expiresAt?: number | undefined;
	lastUsedAt?: number | undefined;
	lastUsedAddress?: string | undefined;
}

export interface KeyStore {
	/** `ifNone`: only when no key exists. False when it was not added. */
	insert(q: { row: KeyRow; ifNone: boolean }): Promise<boolean>;
	find(q: { hash: string }): Promise<KeyRow | undefined>;
	list(): Promise<KeyRow[]>;
	/** Never sets an earlier time. */
	used(q: { id: string; now: number; address?: string | undefined }): Promise<void>;
	/**
	 * Replaces the hash, and ends the key's sessions. `expiresAt`, if absent, stays. Returns the key as it is then;
	 * undefined when there is no such key.
	 */
	rotate(q: { id: string; hash: string; expiresAt?: number | undefined }): Promise<KeyRow | undefined>;
	/** Removes the key's sessions too. `last`: the only unexpired key with the scope `keep` stays. */
	remove(q: { id: string; now: number; keep?: string | undefined }): Promise<"removed" | "missing" | "last">;
}
