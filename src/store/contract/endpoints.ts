/** Endpoints in the store's contract; rules: store.ts. */

/** An endpoint; `settings` is JSON text of the engine. */
export interface EndpointRow {
	id: string;
	settings: string;
	/** The webhook secret, encrypted. */
	secret?: string | undefined;
	paused: boolean;
	/** Being deleted; its jobs and deliveries still have to end. */
	removing: boolean;
	createdAt: number;
}

export interface EndpointStore {
	/**
	 * Creates an endpoint, or replaces its settings and, if given, its `secret`; `paused` and
	 * `createdAt` stay. Undoes a deletion that has not finished.
	 */
	put(q: { id: string; settings: string; secret?: string | undefined; now: number }): Promise<void>;
	list(): Promise<EndpointRow[]>;
	/** Sets `paused`. False for an unknown endpoint. */
	pause(q: { id: string; paused: boolean }): Promise<boolean>;
	/** Marks it as being deleted. False for an unknown endpoint. */
	remove(q: { id: string }): Promise<boolean>;
	/**
	 * Removes an endpoint that is being deleted, with its counts, worker tokens and metrics, once
	 * none of its jobs is live and no delivery pending. True when it no longer exists.
	 */
	forget(q: { id: string; now: number }): Promise<boolean>;
}
