/** Logins to registries of container images in the store's contract (D45); rules: store.ts. */

export interface RegistryRow {
	/** Host, perhaps with port. */
	registry: string;
	username: string;
	/** Encrypted. */
	password: string;
	updatedAt: number;
}

export interface RegistryStore {
	/** Adds or replaces the one of its registry. */
	put(q: { row: RegistryRow }): Promise<void>;
	/** All of them, by name. */
	list(): Promise<RegistryRow[]>;
	/** False when there is none. */
	remove(q: { registry: string }): Promise<boolean>;
	/** Replaces the encrypted password. False, without a change, if it is no longer `from`. */
	replace(q: { registry: string; from: string; to: string }): Promise<boolean>;
}
