/**
 * Keys of callers (D30), worker tokens (D26), sessions of the console (D31), logins to registries of images (D45),
 * encrypted texts (D22).
 */

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

/** `hash`: SHA-256 in hex (D26). */
export interface TokenRow {
	hash: string;
	endpoint: string;
	/** Absent for a token of many replicas (D36). */
	worker?: string | undefined;
	/** Launch hash of its settings; absent for workers that were started elsewhere. */
	launchedAs?: string | undefined;
	createdAt: number;
}

export interface TokenStore {
	put(row: TokenRow): Promise<void>;
	find(q: { hash: string }): Promise<TokenRow | undefined>;
	list(): Promise<TokenRow[]>;
	remove(q: { worker: string }): Promise<void>;
}

/** A session of the console (D31). */
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

/** A login to a registry of container images (D45). */
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

export interface SealedEndpoint {
	settings: string;
	secret?: string | undefined;
}

export interface SealedJob {
	endpoint: string;
	id: string;
	s3Config: string;
}

/** A replacement changes nothing, and answers false, if the text is no longer `from` (D22). */
export interface SecretStore {
	/** Jobs with `s3Config` after `after`, from a bounded number of rows; no `next` at the end. */
	jobs(q: { after?: string | undefined }): Promise<{ jobs: SealedJob[]; next?: string }>;
	replaceJob(q: { endpoint: string; id: string; from: string; to: string }): Promise<boolean>;
	replaceEndpoint(q: { id: string; from: SealedEndpoint; to: SealedEndpoint }): Promise<boolean>;
	/** The check value of the keys; true as well if it is `to` already. */
	replaceCheck(q: { from: string; to: string }): Promise<boolean>;
}
