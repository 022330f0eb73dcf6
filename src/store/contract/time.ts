/** What relates the job clock to the time of day, in the store's contract; rules: store.ts. */

/** A job time with the time of day at that moment. */
export interface LastSeen {
	at: number;
	/** Time of day. */
	wall: number;
	/** Identity of the server that stored it, where several share the store. */
	server?: string;
}

export interface TimeStore {
	/** The last time seen; undefined in a new store. */
	read(): Promise<LastSeen | undefined>;
	/** Replaces the last time seen. */
	seen(q: LastSeen): Promise<void>;
}
