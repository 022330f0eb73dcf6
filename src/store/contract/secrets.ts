/** Encrypted texts in the store's contract (D22); rules: store.ts. */

/** The encrypted texts of an endpoint, as stored. */
export interface SealedEndpoint {
	settings: string;
	secret?: string | undefined;
}

export interface SecretStore {
	/** Replaces both texts. False if they are no longer `from`, or the endpoint is unknown. */
	replaceEndpoint(q: { id: string; from: SealedEndpoint; to: SealedEndpoint }): Promise<boolean>;
}
