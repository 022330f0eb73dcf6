/**
 * One connection to PostgreSQL that mends itself. Statements are pipelined: those sent in a row
 * share a round trip. When the connection is lost, all that are under way fail, and the next
 * attempts wait for a new one, up to a bound.
 */
import { randomUUID } from "node:crypto";
import { Client, DatabaseError } from "pg";
import type { ClientConfig } from "pg";
import type { Clock } from "../../../clock.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Marker } from "./commit-markers.ts";
import { ConnectionLost, fromDriver, losesConnection } from "./errors.ts";
import { openConnectionHealth } from "./connection-health.ts";
import type { ConnectionHealth } from "./connection-health.ts";
import type { Answer, Parameter, Runner, Statement, Value } from "./statement.ts";

/** How long one try to connect may take, ms: several round trips, on a slow way too. */
const ATTEMPT_MS = 5000;

/** First and longest pause between two tries to connect, ms. */
const PAUSE_MS = [50, 500] as const;

/** How long the polite end of a connection may take, ms. */
const END_MS = 500;

/** When the system first asks whether the other end of an idle connection lives, ms. */
const KEEP_ALIVE_MS = 5000;

/**
 * Bounds of what a statement may take on the server, ms: a lock that is not free, a statement that
 * does not end, a transaction that its client forgot.
 */
const LOCK_MS = 5000;
const STATEMENT_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 5000;

/**
 * Whatever the server's default is, a commit is on its disk before it is told (D17). Every
 * statement here goes by an index, with plans made once: what a table looked like when it was empty
 * must not decide. A server that vanished is noticed by its sockets. Warnings are sent: one of them
 * says that a commit was not replicated.
 */
const SETTINGS = `SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
  set_config('lock_timeout', '${LOCK_MS}', false), set_config('statement_timeout', '${STATEMENT_MS}', false),
  set_config('idle_in_transaction_session_timeout', '${IDLE_IN_TRANSACTION_MS}', false), set_config('tcp_keepalives_idle', '5', false),
  set_config('tcp_keepalives_interval', '2', false), set_config('tcp_keepalives_count', '2', false),
  set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', false),
  set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false), set_config('client_min_messages', 'warning', false), set_config('default_transaction_isolation', 'read committed', false)`;

/**
 * Plans are made when a statement is first run, when its table may be empty and all ways to its
 * rows look alike. They are made anew after so many statements of a connection, and again whenever
 * that number has doubled; once tables are large, the server's own statistics see to it.
 */
const FIRST_PLANS = 64;
const DISCARD_PLANS = "DISCARD PLANS";

/**
 * The source file of the warnings that a wait for a synchronous standby was cut short, by
 * statement_timeout or an operator: the commit that gets one is said to have succeeded, and a
 * promotion may lose it. Texts are translated, this is not.
 */
const UNREPLICATED = "syncrep.c";

/** One connection to the server, from its start to its loss. */
export interface Session extends Runner {
	/** Of the transaction that ends next. */
	nextMarker(): Marker;
}

/** A connection with a use of its own. */
export interface Connection extends Runner {
	/**
	 * Runs statements on the present connection only: when that is lost, all of them fail. For what
	 * must not be torn, such as a transaction. Waits `waitMs` at most for a connection that is being
	 * made, and not at all while the database is known to be away.
	 */
	session(waitMs?: number): Promise<Session>;
	/** Connects, and waits as long as one try may take. For the start. */
	open(): Promise<void>;
	/** Statements under way. */
	readonly pending: number;
	/**
	 * Gives the present connection up, as when the database was found dead: all that is under way
	 * fails.
	 */
	drop(): void;
	/** Ends it; statements under way are waited for unless the connection is lost. */
	close(): Promise<void>;
}

/** How connections are made. */
export interface ConnectionOptions {
	config: ClientConfig;
	/** How the database is called in sentences, without secrets. */
	name: string;
	clock: Clock;
	/** What the connections of this server know together. */
	reach?: ConnectionHealth;
	/** Called with each new connection before it is used; `client` gives notifications. */
	onConnect?: (client: Client) => Promise<void>;
	/** Makes the id of each session, unique for ever. */
	newSession?: () => string;
}

/** `int8`, `int4`, `int2`, `float8` and `bool` become values, all else stays text. */
const PARSERS: ReadonlyMap<number, (text: string) => Value> = new Map<
	number,
	(text: string) => Value
>([
	[20, Number],
	[23, Number],
	[21, Number],
	[701, Number],
	[16, (text) => text === "t"],
]);
const asText = (text: string): string => text;
const types = {
	getTypeParser: (oid: number) => PARSERS.get(oid) ?? asText,
} as unknown as NonNullable<ClientConfig["types"]>;

/**
 * Cuts it off: the driver ends a connection politely, and one that is dead would let it wait for
 * ever.
 */
function cutOff(client: Client): void {
	(
		client as unknown as { connection: { stream: { destroy(): void } } }
	).connection.stream.destroy();
}

/** A connection that is made at its first statement, and anew when it was lost. */
export function openConnection({
	config,
	name,
	clock,
	reach = openConnectionHealth(clock),
	onConnect,
	newSession = randomUUID,
}: ConnectionOptions): Connection {
	const closing = new AbortController();
	let client: Client | undefined;
	let connecting: Promise<Client> | undefined;
	let pending = 0;
	let asked = 0;
	let replanAt = FIRST_PLANS;
	let idle: (() => void) | undefined;
	const markers = new WeakMap<Client, Marker>();
	const unreplicated = new WeakSet<Client>();

	function lose(lost: Client): void {
		if (client === lost) client = undefined;
		cutOff(lost);
	}

	async function connectOnce(): Promise<Client> {
		const fresh = new Client({
			...config,
			types,
			pipeline: true,
			keepAlive: true,
			keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
		} as ClientConfig);
		fresh.on("error", () => lose(fresh));
		fresh.on("end", () => lose(fresh));
		// What it says afterwards has been read already, perhaps: that it was committed.
		fresh.on("notice", ({ file }) => {
			if (file !== UNREPLICATED) return;
			unreplicated.add(fresh);
			lose(fresh);
		});
		const made = new AbortController();
		void clock.sleep(ATTEMPT_MS, AbortSignal.any([made.signal, closing.signal])).then(() => {
			if (made.signal.aborted) return;
			cutOff(fresh);
			// A database that says nothing in all that time says nothing on other connections either.
			if (!closing.signal.aborted) reach.silent();
		});
		try {
			await fresh.connect();
			await fresh.query(SETTINGS);
			await onConnect?.(fresh);
		} catch (error) {
			cutOff(fresh);
			throw error;
		} finally {
			made.abort();
		}
		return fresh;
	}

	/** Tries until there is a connection or the store is closed. */
	async function connectAtLast(): Promise<Client> {
		for (let pause: number = PAUSE_MS[0]; ; pause = Math.min(pause * 2, PAUSE_MS[1])) {
			if (closing.signal.aborted) throw new StoreUnavailable("closed", "The store is closed.");
			reach.trying();
			try {
				client = await connectOnce();
				reach.reached();
				return client;
			} catch (error) {
				reach.failed(error as Error);
				await clock.sleep(pause, closing.signal);
			}
		}
	}

	async function connected(waitMs: number): Promise<Client> {
		if (client) return client;
		if (closing.signal.aborted) throw new StoreUnavailable("closed", "The store is closed.");
		connecting ??= connectAtLast().finally(() => (connecting = undefined));
		connecting.catch(() => {});
		const enough = new AbortController();
		const late = clock.sleep(waitMs, enough.signal).then(() => undefined);
		try {
			const made = await Promise.race([connecting, late]);
			if (made) return made;
		} finally {
			enough.abort();
		}
		throw new StoreUnavailable(
			"unreachable",
			`PostgreSQL at ${name} cannot be reached: ${reach.why}.`,
		);
	}

	/** Waits no longer than it makes sense. */
	async function reachable(waitMs = Infinity): Promise<Client> {
		return await connected(Math.min(waitMs, reach.left()));
	}

	/** Runs statements on this very connection, alive or not. */
	function on(bound: Client): Runner {
		return {
			async run(
				{ name: statementName, text }: Statement,
				values: readonly Parameter[] = [],
			): Promise<Answer> {
				pending += 1;
				asked += 1;
				try {
					if (asked === replanAt) {
						replanAt *= 2;
						bound.query(DISCARD_PLANS).catch(() => {});
					}
					const { rows, rowCount, command } = await bound.query<Value[]>({
						name: statementName,
						text,
						values: [...values],
						rowMode: "array",
					});
					if (unreplicated.has(bound))
						throw new ConnectionLost("a commit was not confirmed by a synchronous standby");
					return { rows, count: rowCount ?? 0, command };
				} catch (error) {
					// While the connection lives, what the driver says is about the statement.
					const fault =
						error instanceof DatabaseError || client !== bound
							? fromDriver(error)
							: (error as Error);
					if (losesConnection(fault)) lose(bound);
					throw fault;
				} finally {
					pending -= 1;
					if (pending === 0) idle?.();
				}
			},
		};
	}

	function sessionOn(bound: Client): Session {
		return {
			...on(bound),
			nextMarker() {
				const { session, serial } = markers.get(bound) ?? { session: newSession(), serial: 0 };
				const next = { session, serial: serial + 1 };
				markers.set(bound, next);
				return next;
			},
		};
	}

	const connection: Connection = {
		// Without a wait where it can be: what is asked in a row leaves in that order.
		run: async (statement, values) =>
			await on(client ?? (await reachable())).run(statement, values),
		session: async (waitMs) => sessionOn(client ?? (await reachable(waitMs))),
		async open() {
			await connected(ATTEMPT_MS);
		},
		get pending() {
			return pending;
		},
		drop() {
			if (client) lose(client);
		},
		async close() {
			closing.abort();
			await connecting?.catch(() => {});
			if (pending > 0 && client) await new Promise<void>((resolve) => (idle = resolve));
			const last = client;
			client = undefined;
			if (!last) return;
			const ended = new AbortController();
			void clock.sleep(END_MS, ended.signal).then(() => cutOff(last));
			await last.end();
			ended.abort();
		},
	};
	reach.add(connection);
	return connection;
}
