/** Endpoints, the releases of each (D50), and the other objects of the management API. */
import type { ResourceKey, ResourceKind } from "../../core/endpoints/used-resources.ts";
import type { SealedEndpoint } from "./access.ts";

/** What is not secret. */
export interface ResourceHead extends ResourceKey {
	/** Two registries, or two secrets, never have the same. */
	name: string;
	/** JSON of the members that are not secret. */
	body: string;
	createdAt: number;
	/** Grows with each change. */
	updatedAt: number;
}

export interface ResourceRow extends ResourceHead {
	/** Encrypted: env of a template, user and password of a registry, value of a secret. */
	sealed?: string | undefined;
}

/** At most `limit`, the newest first; `after`: those that follow this one. */
export interface ResourcePage {
	kind: ResourceKind;
	after?: { createdAt: number; id: string } | undefined;
	limit: number;
}

export interface ResourceStore {
	/** Newest first. */
	list(q: { kind: ResourceKind }): Promise<ResourceHead[]>;
	/** Newest first. */
	named(q: { kind: ResourceKind; name: string }): Promise<ResourceRow[]>;
	page(q: ResourcePage): Promise<ResourceRow[]>;
	/** Characters of such a page. */
	size(q: ResourcePage): Promise<number>;
	find(q: ResourceKey): Promise<ResourceRow | undefined>;
	/** `taken`: another has the name; `full`: `atMost` exist. */
	insert(q: { row: ResourceRow; atMost: number }): Promise<"inserted" | "taken" | "full">;
	/** Keeps kind, id and `createdAt`. False, without a change, if its `updatedAt` is no longer `from`. */
	update(q: { row: ResourceRow; from: number }): Promise<boolean>;
	/** Unless endpoints use it: then their ids, without a change. */
	remove(q: ResourceKey): Promise<"removed" | "missing" | { users: string[] }>;
}

/** `unproven` until a worker of it was healthy; `failed` if it was rolled back before. */
export type ReleaseState = "unproven" | "healthy" | "failed";

/** What servers keep in memory. */
export interface ReleaseHead {
	endpoint: string;
	/** 1, 2, 3, … */
	version: number;
	/** See `launch-hash.ts`. */
	launchHash: string;
	state: ReleaseState;
	/** Crashes of its workers before one was healthy. */
	failures: number;
	source: ReleaseSource;
	/** Why an automatic rollback made it: a sentence. */
	reason?: string;
	createdAt: number;
}

/** `stored`: of an earlier version of Sluice. */
export type ReleaseSource = "api" | "file" | "rollback" | "stored";

/** What lists show. */
export interface ReleaseEntry extends ReleaseHead {
	/** Id of a key. */
	createdBy?: string;
	/** JSON: a list of `ReleaseChange`. */
	diff: string;
}

export interface ReleaseRow extends ReleaseEntry {
	/** JSON of the launched settings, sealed as those of endpoints are. */
	settings: string;
}

/** What changes together with the settings of an endpoint (`endpoints.put`). */
export interface ReleaseChanges {
	add: readonly ReleaseRow[];
	/** This version becomes `failed`. */
	fail?: number | undefined;
	/** Versions that are not kept any more. */
	remove: readonly number[];
}

export interface ReleasePage {
	endpoint: string;
	before: number;
	limit: number;
}

export interface ReleaseStore {
	/** Those of all endpoints, the earlier versions of each first. */
	heads(): Promise<ReleaseHead[]>;
	/** Versions below `before`, the newest first. */
	list(q: ReleasePage): Promise<ReleaseEntry[]>;
	/** Characters of the differences of such a list. */
	size(q: ReleasePage): Promise<number>;
	find(q: { endpoint: string; version: number }): Promise<ReleaseRow | undefined>;
	/** A worker of it was healthy; false if it is no longer unproven. */
	prove(q: { endpoint: string; version: number }): Promise<boolean>;
	/** A worker of it crashed; false if it is no longer unproven. */
	crashed(q: { endpoint: string; version: number }): Promise<boolean>;
	/** False, without a change, if the settings are no longer `from` (D22). */
	replace(q: { endpoint: string; version: number; from: string; to: string }): Promise<boolean>;
}

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
