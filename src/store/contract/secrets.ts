/** Encrypted texts in the store's contract (D22); rules: store.ts. */

/** The encrypted texts of an endpoint, as stored. */
export interface SealedEndpoint {
	settings: string;
	secret?: string | undefined;
}

/** The encrypted text of a job. */
export interface SealedJob {
	endpoint: string;
	id: string;
	s3Config: string;
}

/** Replacements change nothing, and answer false, if the text is no longer `from`. */
export interface SecretStore {
	/** Jobs with `s3Config` after `after`, from a bounded number of rows; no `next` at the end. */
	jobs(q: { after?: string | undefined }): Promise<{ jobs: SealedJob[]; next?: string }>;
	replaceJob(q: { endpoint: string; id: string; from: string; to: string }): Promise<boolean>;
	replaceEndpoint(q: { id: string; from: SealedEndpoint; to: SealedEndpoint }): Promise<boolean>;
	/** Replaces the check value of the keys (`store/key-check.ts`); true as well if it is `to` already. */
	replaceCheck(q: { from: string; to: string }): Promise<boolean>;
}
