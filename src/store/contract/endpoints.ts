/** Endpoints in the store's contract. The rules of the contract: store.ts. */

/** An endpoint; `settings` is JSON text that the engine reads and writes. */
export interface EndpointRow {
	id: string;
	settings: string;
	/** The webhook secret, encrypted. */
	secret?: string | undefined;
	paused: boolean;
	/** It is being deleted; its jobs and deliveries still have to end. */
	removing: boolean;
	createdAt: number;
}

export interface EndpointStore {
	/**
	 * Creates an endpoint, or replaces its settings and, if given, its `secret`; `paused` and
	 * `createdAt` stay. One that is being deleted is kept after all.
	 */
	put(q: { id: string; settings: string; secret?: string | undefined; now: number }): Promise<void>;
	list(): Promise<EndpointRow[]>;
	/** Sets `paused`. False for an unknown endpoint. */
	pause(q: { id: string; paused: boolean }): Promise<boolean>;
	/** Marks it as being deleted. False for an unknown endpoint. */
	remove(q: { id: string }): Promise<boolean>;
	/**
	 * Removes an endpoint that is being deleted, with its counts, worker tokens and metrics, once
	 * none of its jobs is live and no delivery pending. True when it does not exist any more.
	 */
	forget(q: { id: string; now: number }): Promise<boolean>;
}
