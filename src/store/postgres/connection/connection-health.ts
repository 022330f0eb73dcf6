/**
 * Since when the database is unreachable, shared by the connections of a server, so that a caller
 * does not wait once for each of them.
 */
import type { Clock } from "../../../clock.ts";

/** After so long callers no longer wait, ms: a client gets its 503 within 2 s. */
export const PATIENCE_MS = 1500;

export interface ConnectionHealth {
	/** How long to wait for a connection, ms; 0 once the database counts as unreachable. */
	left(): number;
	/** Why the last attempt to connect failed, as the end of a sentence. */
	readonly why: string;
	/** An attempt to connect begins. */
	trying(): void;
	failed(error: Error & { code?: string }): void;
	/** A connection was made. */
	reached(): void;
	/** The database does not answer: drops all connections; no caller waits until one is made. */
	silent(): void;
	/** Adds a connection that {@link ConnectionHealth.silent} drops. */
	add(connection: { drop(): void }): void;
}

export function openConnectionHealth(clock: Clock): ConnectionHealth {
	const connections = new Set<{ drop(): void }>();
	/** Since when no connection could be made; undefined while there is one. */
	let since: number | undefined;
	let why = "no answer";
	return {
		left: () =>
			since === undefined ? PATIENCE_MS : Math.max(0, since + PATIENCE_MS - clock.now()),
		get why() {
			return why;
		},
		trying: () => void (since ??= clock.now()),
		// For a host with several addresses the message is empty.
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
