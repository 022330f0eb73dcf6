/** What relates the job clock to the time of day. */

export interface LastSeen {
	at: number;
	wall: number;
	/** The server that stored it, where several share the store. */
	server?: string;
}

export interface TimeStore {
	read(): Promise<LastSeen | undefined>;
	seen(q: LastSeen): Promise<void>;
}
