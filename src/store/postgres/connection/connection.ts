/**
 * A PostgreSQL connection that reconnects automatically. Statements are pipelined. When the
 * connection is lost, statements in flight fail and later ones wait, bounded, for a new connection.
 */
import { randomUUID } from "node:crypto";
import { Client, type ClientConfig, DatabaseError } from "pg";
import type { Clock } from "../../../clock.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Marker } from "./commit-markers.ts";
import { ConnectionLost, fromDriver, losesConnection } from "./errors.ts";
import { type ConnectionHealth, openConnectionHealth, type Watched } from "./connection-health.ts";
import type { Answer, Parameter, Runner, Statement, Value } from "./statement.ts";

/** Timeout of one connection attempt, ms: several round trips on a slow network. */
const ATTEMPT_MS = 5000;

/** First and longest pause between connection attempts, ms. */
const PAUSE_MS = [50, 500] as const;

/** Timeout of a regular disconnect, ms. */
const END_MS = 500;

/** Idle time before the first TCP keepalive probe, ms. */
const KEEP_ALIVE_MS = 5000;

/** Server-side timeouts, ms. That of locks: a client gets its 503 within 2 s. */
const LOCK_MS = 1500;
export const STATEMENT_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 5000;

/**
 * How long a client may leave what was sent to it unacknowledged, ms: keepalives are not sent while
 * something is. The default is up to 15 minutes, in which locks of the session are held.
 */
const VANISHED_MS = 9000;

/**
 * Session settings. Commits are durable before they are answered, whatever the server's default
 * (D17). Generic plans that prefer indexes: the statistics of an empty table must not decide.
 * Keepalives detect a vanished client. Warnings report unreplicated commits.
 */
const SETTINGS = `SELECT ${[
	...Object.entries({
		lock_timeout: LOCK_MS,
		statement_timeout: STATEMENT_MS,
		idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
		tcp_keepalives_idle: 5,
		tcp_keepalives_interval: 2,
		tcp_keepalives_count: 2,
		tcp_user_timeout: VANISHED_MS,
		plan_cache_mode: "force_generic_plan",
		enable_seqscan: "off",
		enable_hashjoin: "off",
		enable_mergejoin: "off",
		jit: "off",
		client_min_messages: "warning",
		default_transaction_isolation: "read committed",
	}).map(([name, value]) => `set_config('${name}', '${value}', false)`),
	`set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply'
		THEN 'remote_apply' ELSE 'on' END, false)`,
].join(", ")}`;

/**
 * A first plan may be made on an empty table, where all indexes cost the same. Plans are dropped
 * after this many statements of a connection, then each time the count has doubled; once tables are
 * large, the server's statistics invalidate plans.
 */
const FIRST_PLANS = 64;
const DISCARD_PLANS = "DISCARD PLANS";

/**
 * Source file of the warnings that a wait for a synchronous standby was cut short: the commit is
 * reported as successful, but a promotion may lose it. Messages are translated, file names are not.
 */
const UNREPLICATED = "syncrep.c";

/** One server connection, from its start to its loss. */
export interface Session extends Runner {
	nextMarker(): Marker;
}

export interface Connection extends Runner, Watched {
	/**
	 * The current connection only, for a transaction: all its statements fail when it is lost. Waits
	 * up to `waitMs` for one; not at all while the database counts as unreachable.
	 */
	session(waitMs?: number): Promise<Session>;
	/** Connects, for the start. Waits as long as one attempt may take. */
	open(): Promise<void>;
	readonly pending: number;
	/** Drops the current connection; statements in flight fail. */
	drop(): void;
	/** Closes after the statements in flight. */
	close(): Promise<void>;
}

export interface ConnectionOptions {
	config: ClientConfig;
	/** The database in error messages, without secrets. */
	name: string;
	clock: Clock;
	reach?: ConnectionHealth;
	/** Called with each new connection before its use. */
	onConnect?: (client: Client) => Promise<void>;
	/** Returns a globally unique id for each session. */
	newSession?: () => string;
}

/** `int8`, `int4`, `int2`, `float8` and `bool` are parsed; all else stays text. */
const PARSERS: ReadonlyMap<number, (text: string) => Value> = new Map<number, (text: string) => Value>([
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

/** Destroys the socket: the driver's `end` waits for an answer, which a dead server never sends. */
function cutOff(client: Client): void {
	(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

/** Connects at the first statement and after each loss. */
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
	/** When the last answer arrived while others were owed, or the first statement was sent. */
	let quietSince = 0;
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
		// The answer that reports success may have been read already.
		fresh.on("notice", ({ file }) => {
			if (file !== UNREPLICATED) return;
			unreplicated.add(fresh);
			lose(fresh);
		});
		const made = new AbortController();
		void clock.sleep(ATTEMPT_MS, AbortSignal.any([made.signal, closing.signal])).then(() => {
			if (made.signal.aborted) return;
			cutOff(fresh);
			// If the database is silent here, it is silent on the other connections too.
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

	/** Retries until connected or closed. */
	async function connectEventually(): Promise<Client> {
		for (let pause: number = PAUSE_MS[0]; ; pause = Math.min(pause * 2, PAUSE_MS[1])) {
			if (closing.signal.aborted) throw new StoreUnavailable("closed", "The store is closed.");
			reach.trying();
			try {
				client = await connectOnce();
				reach.reached();
				return client;
			} catch (error) {
				reach.failed(error);
				await clock.sleep(pause, closing.signal);
			}
		}
	}

	async function connected(waitMs: number): Promise<Client> {
		if (client) return client;
		if (closing.signal.aborted) throw new StoreUnavailable("closed", "The store is closed.");
		connecting ??= connectEventually().finally(() => (connecting = undefined));
		connecting.catch(() => {});
		const enough = new AbortController();
		const late = clock.sleep(waitMs, enough.signal).then(() => undefined);
		try {
			const made = await Promise.race([connecting, late]);
			if (made) return made;
		} finally {
			enough.abort();
		}
		throw new StoreUnavailable("unreachable", `PostgreSQL at ${name} cannot be reached: ${reach.why}.`);
	}

	async function reachable(waitMs = Infinity): Promise<Client> {
		return await connected(Math.min(waitMs, reach.left()));
	}

	function on(bound: Client): Runner {
		return {
			async run({ name: statementName, text }: Statement, values: readonly Parameter[] = []): Promise<Answer> {
				if (pending === 0) quietSince = clock.now();
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
					if (unreplicated.has(bound)) throw new ConnectionLost("a commit was not confirmed by a synchronous standby");
					return { rows, count: rowCount ?? 0, command };
				} catch (error) {
					// On a live connection, driver errors concern the statement.
					const fault = error instanceof DatabaseError || client !== bound ? fromDriver(error) : (error as Error);
					if (losesConnection(fault)) lose(bound);
					throw fault;
				} finally {
					quietSince = clock.now();
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
		// Avoids an await if possible: statements run in a row are sent in that order.
		run: async (statement, values) => await on(client ?? (await reachable())).run(statement, values),
		session: async (waitMs) => sessionOn(client ?? (await reachable(waitMs))),
		async open() {
			await connected(ATTEMPT_MS);
		},
		get pending() {
			return pending;
		},
		get waiting() {
			const bound = client;
			if (!bound || pending === 0) return undefined;
			const { processID: pid } = bound as unknown as { processID: number };
			return { pid, since: quietSince, drop: () => lose(bound) };
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
