import type { ResourceKey } from "../../core/management/resources.ts";
import type { ReleaseChanges } from "./releases.ts";
import type { SealedEndpoint } from "./secrets.ts";

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
	 * `before`: what was read of the endpoint; absent, it is created. `paused`, `createdAt`, and a secret that is not
	 * given, stay. False, without a change, if it is no longer so, is being deleted, or exists already, if a version of
	 * `releases` exists already, or if one of the resources `uses` does not exist.
	 */
	put(q: {
		id: string;
		before?: SealedEndpoint | undefined;
		settings: string;
		secret?: string | undefined;
		releases?: ReleaseChanges | undefined;
		uses?: readonly ResourceKey[];
		now: number;
	}): Promise<boolean>;
	list(): Promise<EndpointRow[]>;
	/** False if there is none, or it is being deleted. */
	pause(q: { id: string; paused: boolean }): Promise<boolean>;
	/** False if there is none, or it is being deleted. */
	remove(q: { id: string }): Promise<boolean>;
	/**
	 * Removes an endpoint that is being deleted, once none of its jobs is live and no delivery pending. True when it no
	 * longer exists.
	 */
	forget(q: { id: string; now: number }): Promise<boolean>;
}
