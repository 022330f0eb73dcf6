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
	/** Last recorded use. */
	lastUsedAt?: number | undefined;
}

export interface KeyStore {
	/** Adds the key; with `ifNone` only when no key exists. False when it was not added. */
	insert(q: { row: KeyRow; ifNone: boolean }): Promise<boolean>;
	find(q: { hash: string }): Promise<KeyRow | undefined>;
	/** All keys, oldest first. */
	list(): Promise<KeyRow[]>;
	/** Records a use; never sets an earlier time. */
	used(q: { id: string; now: number }): Promise<void>;
	/** Removes a key. `last`: the only one with the scope `keep` is not removed. */
	remove(q: { id: string; keep?: string | undefined }): Promise<"removed" | "missing" | "last">;
}
