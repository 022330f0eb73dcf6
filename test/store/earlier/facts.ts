/** What is known of a stored database of an earlier version. */
export type Dialect = "sqlite" | "postgres";

/** The key and the secret of the services that made them. */
export const KEY = "test-key-0123456789-0123456789";
export const SECRET = "the secret of stored databases";

export interface Facts {
	/** Commit of the version that made it. */
	version: string;
	/** When, ms since the epoch. */
	at: number;
	/** An API key with the scope read. */
	key: string;
	/** Of the endpoint `ep`. */
	webhookSecret: string;
	/** Variables of the worker that runs a job. */
	worker: Record<string, string>;
	/** Ids of pending deliveries. */
	deliveries: string[];
	/** Of `/health`. */
	counts: object;
	jobs: Record<
		"completed" | "large" | "failed" | "streamed" | "hooked" | "running" | "cancelled" | "low" | "waiting" | "repeated",
		string
	>;
}
