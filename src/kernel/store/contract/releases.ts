/** Releases: versions of what an endpoint's workers are launched with (D50). */

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
