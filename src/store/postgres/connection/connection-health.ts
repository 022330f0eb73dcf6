/**
 * What the connections of one server to its database know together: since when it cannot be
 * reached, so that each caller waits once, not once for each connection.
 */
import type { Clock } from "../../../clock.ts";

/**
 * How long the database may be away before nobody waits for it any more, ms: a client shall get its
 * 503 within 2 s.
 */
export const PATIENCE_MS = 1500;

/** Shared by the connections of one server. */
export interface ConnectionHealth {
	/**
	 * How long it still makes sense to wait for a connection that is being made, ms; 0 while the
	 * database is known to be away.
	 */
	left(): number;
	/** Why the last try to connect failed, as the end of a sentence. */
	readonly why: string;
	/** A connection is being made from now on. */
	trying(): void;
	failed(error: Error & { code?: string }): void;
	/** A connection was made: the database is back. */
	reached(): void;
	/**
	 * The database was found silent: all connections are given up, and nobody waits for new ones
	 * until one was made.
	 */
	silent(): void;
	/** Connections of this server: those that {@link ConnectionHealth.silent} gives up. */
	add(connection: { drop(): void }): void;
}

export function openConnectionHealth(clock: Clock): ConnectionHealth {
	const connections = new Set<{ drop(): void }>();
	/** Since when no connection could be made; undefined: one was made last. */
	let since: number | undefined;
	let why = "no answer";
	return {
		left: () =>
			since === undefined ? PATIENCE_MS : Math.max(0, since + PATIENCE_MS - clock.now()),
		get why() {
			return why;
		},
		trying: () => void (since ??= clock.now()),
		// Of an address with several machines there is no sentence, only a code.
		failed: ({ message, code }) => void (why = message || (code ?? "no answer")),
		reached: () => void (since = undefined),
		silent() {
			since = -Infinity;
			why = "no answer";
			for (const each of connections) each.drop();
		},
		add: (connection) => void connections.add(connection),
	};
}
