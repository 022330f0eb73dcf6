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
