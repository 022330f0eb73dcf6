/**
 * What servers need of each other that share a store: signs of life, leases, and cheap looks for
 * what hints have not told.
 */
import type { Running } from "./store.ts";

/** A server that shares the store with others. */
export interface ServerRow {
	id: string;
	/** Address at which this very server is reached, by the workers it launches. */
	url: string;
	startedAt: number;
	/** Until when it counts as alive, ms since the epoch. */
	aliveUntil: number;
	/** Grows with each note. */
	noteNumber: number;
	/**
	 * What it told the others of itself, JSON text; absent when there is none, or when the asker
	 * knows this number.
	 */
	note?: string;
}

/**
 * What servers need of each other that share a store. A lease is held as long as its server lives.
 */
export interface ClusterStore {
	/** The servers that live, in the order of their starts. */
	servers(q: { now: number }): Promise<ServerRow[]>;
	/**
	 * Notes that this server lives until `now + aliveMs`. `run` is of one start: with `first` it
	 * takes the place of an earlier start under this id, with all it led; without, the answer is
	 * undefined when a later start has taken its own. `bury` removes the servers that live no more
	 * and frees what they led. A `note` replaces the last one; `known` are the numbers of others'
	 * notes known already. Answers who lives, this one included, and who leads what.
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
	/** The server ends: what it leads is free at once. Signals `servers`. */
	leave(q: { server: string; run: string }): Promise<void>;
	/**
	 * Takes up to `atMost` of `names` that nobody leads, the first ones first. Answers those taken.
	 */
	lead(q: {
		names: readonly string[];
		atMost: number;
		server: string;
		run: string;
	}): Promise<string[]>;
	/** Lets go of what this server leads. Signals `servers`. */
	yield(q: { names: readonly string[]; server: string }): Promise<void>;
	/** The database's own clock, ms since the epoch. */
	clock(): Promise<number>;
	/**
	 * Those of these jobs that have ended or are no more, as far as is written: whoever waits for one
	 * looks at it.
	 */
	over(q: {
		jobs: readonly { endpoint: string; id: string }[];
	}): Promise<{ endpoint: string; id: string }[]>;
	/** The running jobs of an endpoint, as far as is written. */
	running(q: { endpoint: string }): Promise<Running[]>;
	/** Words that change with any change of endpoints, and of keys or worker tokens. */
	versions(): Promise<{ endpoints: string; access: string }>;
}
