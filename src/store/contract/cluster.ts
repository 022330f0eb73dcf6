/** Servers that share the store: liveness, leases, and reads that replace lost hints. */
import type { Running } from "./jobs.ts";
import type { LastSeen } from "./time.ts";

/** A server that shares the store. */
export interface ServerRow {
	id: string;
	/** Address of this server for the workers that it launches. */
	url: string;
	startedAt: number;
	/** End of its liveness, ms since the epoch. */
	aliveUntil: number;
	/** Increases with each note. */
	noteNumber: number;
	/**
	 * JSON text that the server publishes about itself; absent when there is none, or when the caller
	 * knows this number.
	 */
	note?: string;
}

/** A lease is held while its server is alive. */
export interface ClusterStore {
	/** The live servers in start order. */
	servers(q: { now: number }): Promise<ServerRow[]>;
	/**
	 * Records that this server is alive until `now + aliveMs`; returns the live servers, this one
	 * included, and all leases. `run` names one start of the server: with `first` it replaces an
	 * earlier start under this id and its leases; without, the answer is undefined when a later start
	 * has replaced this one. `bury` removes dead servers and frees their leases. A `note` replaces
	 * the last one; `known` are the note numbers of other servers that the caller has.
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
	/** Takes up to `atMost` free leases of `names`, in order, and returns those taken. */
	lead(q: { names: readonly string[]; atMost: number; server: string; run: string }): Promise<string[]>;
	/** Frees leases of this server. Signals `servers`. */
	yield(q: { names: readonly string[]; server: string }): Promise<void>;
	/** The database's time of day, ms since the epoch, and the last time seen. */
	clock(): Promise<{ wall: number; seen: LastSeen | undefined }>;
	/** Those of these jobs that have ended or do not exist, as stored. */
	over(q: { jobs: readonly { endpoint: string; id: string }[] }): Promise<{ endpoint: string; id: string }[]>;
	/** The running jobs of an endpoint, as stored. */
	running(q: { endpoint: string }): Promise<Running[]>;
	/** Texts that change with any change of endpoints, and of keys or worker tokens. */
	versions(): Promise<{ endpoints: string; access: string }>;
}
