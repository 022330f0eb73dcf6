/** What servers on one store know of each other: the clock, what each has admitted, heartbeats and leases. */
import type { Running } from "./jobs.ts";

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

/** What a server has admitted lately, for the limits that all share and for restarts (D24). */
export interface CountRow {
	run: string;
	/** The same after a restart. */
	server: string;
	at: number;
	/** JSON text, as in `engine/limits/reported-counts.ts`. */
	counts: string;
}

export interface LimitStore {
	/** Replaces the row of the same start. */
	put(q: CountRow): Promise<void>;
	list(q: { after: number }): Promise<CountRow[]>;
	expire(q: { until: number }): Promise<void>;
}

export interface ServerRow {
	id: string;
	/** Address for the workers that it launches. */
	url: string;
	startedAt: number;
	/** Ms since the epoch. */
	aliveUntil: number;
	noteNumber: number;
	/** JSON text that the server publishes about itself. Absent also when the caller knows this number. */
	note?: string;
}

export interface ClusterStore {
	servers(q: { now: number }): Promise<ServerRow[]>;
	/**
	 * Records that this server is alive until `now + aliveMs`; returns the live servers, this one included, and all
	 * leases. `run` names one start of the server. `first` replaces an earlier start and its leases; without it, the
	 * answer is undefined when a later start has replaced this one. `bury` removes dead servers and their leases.
	 * `known`: note numbers of other servers that the caller has.
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
	leave(q: { server: string; run: string }): Promise<void>;
	/** Takes up to `atMost` free leases of `names`, in order, and returns those taken. */
	lead(q: { names: readonly string[]; atMost: number; server: string; run: string }): Promise<string[]>;
	/** Signals `servers`. */
	yield(q: { names: readonly string[]; server: string }): Promise<void>;
	/** Time of day of the database, ms since the epoch, and the last time seen. */
	clock(): Promise<{ wall: number; seen: LastSeen | undefined }>;
	/** Standbys of the database that are connected, and whether commits wait for any. */
	standbys(): Promise<{ connected: number; isSynchronous: boolean }>;
	/** Those of these jobs that have ended or do not exist, as stored. */
	over(q: { jobs: readonly { endpoint: string; id: string }[] }): Promise<{ endpoint: string; id: string }[]>;
	running(q: { endpoint: string }): Promise<Running[]>;
	/** Texts that change with any change of endpoints, and of keys or worker tokens. */
	versions(): Promise<{ endpoints: string; access: string }>;
}
