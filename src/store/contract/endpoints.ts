import type { ReleaseChanges } from "./releases.ts";

/** `settings` is JSON text of the engine. */
export interface EndpointRow {
	id: string;
	settings: string;
	secret?: string | undefined;
	paused: boolean;
	/** Being deleted; its jobs and deliveries still have to end. */
	removing: boolean;
	createdAt: number;
}

export interface EndpointStore {
	/**
	 * `paused` and `createdAt` of an existing endpoint stay. Undoes a deletion that has not finished. False, without a
	 * change, if a version of `releases` exists already.
	 */
	put(q: {
		id: string;
		settings: string;
		secret?: string | undefined;
		releases?: ReleaseChanges | undefined;
		now: number;
	}): Promise<boolean>;
	list(): Promise<EndpointRow[]>;
	pause(q: { id: string; paused: boolean }): Promise<boolean>;
	remove(q: { id: string }): Promise<boolean>;
	/**
	 * Removes an endpoint that is being deleted, once none of its jobs is live and no delivery pending. True when it no
	 * longer exists.
	 */
	forget(q: { id: string; now: number }): Promise<boolean>;
}
