/** Servers that share the store: presence, leases, and reads for when hints are lost. */
import type { Running } from "./jobs.ts";

/** A server that shares the store with others. */
export interface ServerRow {
	id: string;
	/** Address of this server for the workers that it launches. */
	url: string;
	startedAt: number;
	/** Until when it counts as alive, ms since the epoch. */
	aliveUntil: number;
	/** Grows with each note. */
	noteNumber: number;
	/**
	 * What the server publishes about itself, JSON text; absent when there is none, or when the caller
	 * knows this number.
	 */
	note?: string;
}

/** A lease is held as long as its server is alive. */
export interface ClusterStore {
	/** The live servers in the order of their starts. */
	servers(q: { now: number }): Promise<ServerRow[]>;
	/**
	 * Records that this server lives until `now + aliveMs`, and answers the live servers, this one
	 * included, and all leases. `run` names one start of the server: with `first` it replaces an
	 * earlier start under this id and its leases; without, the answer is undefined when a later start
	 * has replaced this one. `bury` removes dead servers and frees their leases. A `note` replaces
	 * the last one; `known` are the numbers of others' notes that the caller has.
	 */
	beat(q: {
		server: string;
		run: string;
		url: string;
		startedAt: number;
		first: boolean;
		bury: boolean;
		aliveMs: number;
		note?: string | undefined;
		known: ReadonlyMap<string, number>;
		now: number;
	}): Promise<{ servers: ServerRow[]; leases: { name: string; server: string }[] } | undefined>;
	/** Removes the server and frees its leases. Signals `servers`. */
	leave(q: { server: string; run: string }): Promise<void>;
	/** Takes up to `atMost` free leases of `names`, in their order, and returns those taken. */
	lead(q: {
		names: readonly string[];
		atMost: number;
		server: string;
		run: string;
	}): Promise<string[]>;
	/** Frees leases of this server. Signals `servers`. */
	yield(q: { names: readonly string[]; server: string }): Promise<void>;
	/** The database's clock, ms since the epoch. */
	clock(): Promise<number>;
	/** Those of these jobs that have ended or do not exist, as far as is written. */
	over(q: {
		jobs: readonly { endpoint: string; id: string }[];
	}): Promise<{ endpoint: string; id: string }[]>;
	/** The running jobs of an endpoint, as far as is written. */
	running(q: { endpoint: string }): Promise<Running[]>;
	/** Texts that change with any change of endpoints, and of keys or worker tokens. */
	versions(): Promise<{ endpoints: string; access: string }>;
}
