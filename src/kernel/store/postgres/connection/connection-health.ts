/** Records since when the database is unreachable, for all connections of a server: a caller waits only once. */
import type { Clock } from "../../../system/clock.ts";
import { reasonOf } from "./errors.ts";

/** How long callers wait for a connection, ms: a client gets its 503 within 2 s. */
export const PATIENCE_MS = 1500;

export interface Waiting {
	pid: number;
	since: number;
	drop(): void;
}

export interface Watched {
	drop(): void;
	readonly waiting: Waiting | undefined;
}

export type ConnectionHealth = ReturnType<typeof openConnectionHealth>;

export function openConnectionHealth(clock: Clock) {
	const connections = new Set<Watched>();
	let since: number | undefined;
	let why = "no answer";
	return {
		/** How long to wait for a connection, ms; 0 once the database counts as unreachable. */
		left: () => (since === undefined ? PATIENCE_MS : Math.max(0, since + PATIENCE_MS - clock.now())),
		get why(): string {
			return why;
		},
		trying: () => void (since ??= clock.now()),
		failed: (error: unknown) => void (why = reasonOf(error)),
		reached: () => void (since = undefined),
		/** Records that the database does not answer: drops all connections, and callers stop waiting until one is made. */
		silent(): void {
			since = -Infinity;
			why = "no answer";
			for (const each of connections) each.drop();
		},
		add: (connection: Watched) => void connections.add(connection),
		waiting: (ms: number): Waiting[] =>
			[...connections].flatMap(({ waiting }) => (waiting && clock.now() - waiting.since > ms ? [waiting] : [])),
	};
}
