/** Logins to registries of container images (D45). */

export interface RegistryRow {
	/** Host, perhaps with port. */
	registry: string;
	username: string;
	/** Encrypted. */
	password: string;
	updatedAt: number;
}

export interface RegistryStore {
	put(q: { row: RegistryRow }): Promise<void>;
	list(): Promise<RegistryRow[]>;
	remove(q: { registry: string }): Promise<boolean>;
	/** False, without a change, if the password is no longer `from`. */
	replace(q: { registry: string; from: string; to: string }): Promise<boolean>;
}
