/**
 * Since when the database is unreachable; shared by a server's connections, so that a caller waits
 * only once.
 */
import type { Clock } from "../../../clock.ts";
import { reasonOf } from "./errors.ts";

/** How long callers wait for a connection, ms: a client gets its 503 within 2 s. */
export const PATIENCE_MS = 1500;

/** A connection that owes an answer. */
export interface Waiting {
	/** Process of the database that serves it. */
	pid: number;
	/** Since when nothing was answered, ms. */
	since: number;
	drop(): void;
}

/** What {@link ConnectionHealth} knows of each connection. */
export interface Watched {
	drop(): void;
	readonly waiting: Waiting | undefined;
}

export interface ConnectionHealth {
	/** How long to wait for a connection, ms; 0 once the database counts as unreachable. */
	left(): number;
	/** Why the last attempt failed, as the end of a sentence. */
	readonly why: string;
	trying(): void;
	failed(error: unknown): void;
	reached(): void;
	/**
	 * Drops all connections because the database does not answer; callers stop waiting until one is
	 * made.
	 */
	silent(): void;
	/** Adds a connection that {@link ConnectionHealth.silent} drops. */
	add(connection: Watched): void;
	/** Connections that have owed an answer for longer than `ms`. */
	waiting(ms: number): Waiting[];
}

export function openConnectionHealth(clock: Clock): ConnectionHealth {
	const connections = new Set<Watched>();
	/** Start of the outage; undefined while connected. */
	let since: number | undefined;
	let why = "no answer";
	return {
		left: () => (since === undefined ? PATIENCE_MS : Math.max(0, since + PATIENCE_MS - clock.now())),
		get why() {
			return why;
		},
		trying: () => void (since ??= clock.now()),
		failed: (error) => void (why = reasonOf(error)),
		reached: () => void (since = undefined),
		silent() {
			since = -Infinity;
			why = "no answer";
			for (const each of connections) each.drop();
		},
		add: (connection) => void connections.add(connection),
		waiting: (ms) =>
			[...connections].flatMap(({ waiting }) => (waiting && clock.now() - waiting.since > ms ? [waiting] : [])),
	};
}
