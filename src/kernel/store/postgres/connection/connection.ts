/**
 * A PostgreSQL connection that reconnects automatically. Statements are pipelined. When it is lost, statements in
 * flight fail and later ones wait, bounded, for a new connection.
 */
import { randomUUID } from "node:crypto";
import { Client, type ClientConfig, DatabaseError, type QueryArrayResult } from "pg";
import type { Clock } from "../../../system/clock.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Marker } from "./commit-markers.ts";
import { ConnectionLost, fromDriver, losesConnection } from "./errors.ts";
import { CopyOut } from "./copy-out.ts";
import { type ConnectionHealth, openConnectionHealth, type Waiting, type Watched } from "./connection-health.ts";
import type { Answer, Parameter, Runner, Statement, Value } from "./statement.ts";

const ATTEMPT_MS = 5000;

/** First and longest pause between connection attempts, ms. */
const PAUSE_MS = [50, 500] as const;

const END_MS = 500;

const KEEP_ALIVE_MS = 5000;

/** Maximum wait for a lock, ms, so that a client gets its 503 within 2 s. */
const LOCK_MS = 1500;
export const STATEMENT_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 5000;

/**
 * How long a client may leave what was sent to it unacknowledged, ms, in which no keepalives are sent. The default
 * holds the session's locks for up to 15 minutes.
 */
const VANISHED_MS = 9000;

/**
 * Commits are durable before they are answered, whatever the server's default (D17). Generic plans prefer indexes: the
 * statistics of an empty table must not decide. Warnings report unreplicated commits.
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
 * A first plan may be made on an empty table, where all indexes cost the same. Plans are dropped after this many
 * statements, and each time the count has doubled.
 */
const FIRST_PLANS = 64;
const DISCARD_PLANS = "DISCARD PLANS";

/**
 * Source file of the warnings that a wait for a synchronous standby was cut short: a promotion may lose that commit.
 * Messages are translated, file names are not.
 */
const UNREPLICATED = "syncrep.c";

export interface Session extends Runner {
	nextMarker(): Marker;
}

export interface ConnectionOptions {
	config: ClientConfig;
	name: string;
	clock: Clock;
	reach?: ConnectionHealth;
	onConnect?: (client: Client) => Promise<void>;
	newSession?: () => string;
}

/** All other types stay text. */
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

/** The driver's `end` waits for an answer, which a dead server never sends. */
function cutOff(client: Client): void {
	(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

export class Connection implements Runner, Watched {
	readonly #q: ConnectionOptions;
	readonly #reach: ConnectionHealth;
	readonly #closing = new AbortController();
	#client: Client | undefined;
	#connecting: Promise<Client> | undefined;
	#pending = 0;
	#asked = 0;
	#replanAt = FIRST_PLANS;
	#idle: (() => void) | undefined;
	/** Time of the last answer while others are outstanding, or of the first statement that was sent. */
	#quietSince = 0;
	readonly #markers = new WeakMap<Client, Marker>();
	readonly #unreplicated = new WeakSet<Client>();

	constructor(q: ConnectionOptions) {
		this.#q = q;
		this.#reach = q.reach ?? openConnectionHealth(q.clock);
		this.#reach.add(this);
	}

	/** Runs a statement, without an await if possible, so that statements in a row are sent in that order. */
	async run(statement: Statement, values?: readonly Parameter[]): Promise<Answer> {
		return await this.#runOn(this.#client ?? (await this.#reachable()), statement, values);
	}

	/**
	 * Returns the current connection, for a transaction. Waits up to `waitMs` for one, and not at all while the database
	 * counts as unreachable.
	 */
	async session(waitMs?: number): Promise<Session> {
		const bound = this.#client ?? (await this.#reachable(waitMs));
		return {
			run: (statement, values) => this.#runOn(bound, statement, values),
			nextMarker: () => {
				const { newSession = randomUUID } = this.#q;
				const { session, serial } = this.#markers.get(bound) ?? { session: newSession(), serial: 0 };
				const next = { session, serial: serial + 1 };
				this.#markers.set(bound, next);
				return next;
			},
		};
	}

	async open(): Promise<void> {
		await this.#connected(ATTEMPT_MS);
	}

	get pending(): number {
		return this.#pending;
	}

	get waiting(): Waiting | undefined {
		const bound = this.#client;
		if (!bound || this.#pending === 0) return undefined;
		const { processID: pid } = bound as unknown as { processID: number };
		return { pid, since: this.#quietSince, drop: () => this.#lose(bound) };
	}

	readonly drop = (): void => {
		if (this.#client) this.#lose(this.#client);
	};

	async close(): Promise<void> {
		this.#closing.abort();
		await this.#connecting?.catch(() => {});
		if (this.#pending > 0 && this.#client) await new Promise<void>((resolve) => (this.#idle = resolve));
		const last = this.#client;
		this.#client = undefined;
		if (!last) return;
		const ended = new AbortController();
		void this.#q.clock.sleep(END_MS, ended.signal).then(() => cutOff(last));
		await last.end();
		ended.abort();
	}

	/** Uses a callback instead of the driver's promises, since a job needs about ten statements. */
	#runOn(bound: Client, { name, text, take }: Statement, values: readonly Parameter[] = []): Promise<Answer> {
		const { clock } = this.#q;
		if (this.#pending === 0) this.#quietSince = clock.now();
		this.#pending += 1;
		this.#asked += 1;
		if (this.#asked === this.#replanAt) {
			this.#replanAt *= 2;
			bound.query(DISCARD_PLANS).catch(() => {});
		}
		return new Promise<Answer>((resolve, reject) => {
			const config = { name, text, values: values as Parameter[], rowMode: "array" } as const;
			const done = (
				thrown: unknown,
				result: Pick<QueryArrayResult<Value[]>, "rows" | "rowCount" | "command">,
			): void => {
				if (thrown === null || thrown === undefined) {
					if (this.#unreplicated.has(bound))
						reject(new ConnectionLost("a commit was not confirmed by a synchronous standby"));
					else resolve({ rows: result.rows, count: result.rowCount ?? 0, command: result.command });
				} else {
					// On a live connection, driver errors concern the statement.
					const isDriver = thrown instanceof DatabaseError || this.#client !== bound;
					const fault = isDriver ? fromDriver(thrown) : (thrown as Error);
					if (losesConnection(fault)) this.#lose(bound);
					reject(fault);
				}
				this.#quietSince = clock.now();
				this.#pending -= 1;
				if (this.#pending === 0) this.#idle?.();
			};
			if (take) bound.query(new CopyOut(config, take, done));
			else bound.query<Value[]>(config, done);
		});
	}

	#lose(lost: Client): void {
		if (this.#client === lost) this.#client = undefined;
		cutOff(lost);
	}

	async #connectOnce(): Promise<Client> {
		const { config, clock, onConnect } = this.#q;
		const fresh = new Client({
			...config,
			types,
			pipeline: true,
			keepAlive: true,
			keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
		} as ClientConfig);
		fresh.on("error", () => this.#lose(fresh));
		fresh.on("end", () => this.#lose(fresh));
		// The answer that reports success may have been read already.
		fresh.on("notice", ({ file }) => {
			if (file !== UNREPLICATED) return;
			this.#unreplicated.add(fresh);
			this.#lose(fresh);
		});
		const made = new AbortController();
		void clock.sleep(ATTEMPT_MS, AbortSignal.any([made.signal, this.#closing.signal])).then(() => {
			if (made.signal.aborted) return;
			cutOff(fresh);
			// If the database is silent here, it is silent on the other connections too.
			if (!this.#closing.signal.aborted) this.#reach.silent();
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

	async #connectEventually(): Promise<Client> {
		for (let pause: number = PAUSE_MS[0]; ; pause = Math.min(pause * 2, PAUSE_MS[1])) {
			this.#refuseClosed();
			this.#reach.trying();
			try {
				this.#client = await this.#connectOnce();
				this.#reach.reached();
				return this.#client;
			} catch (error) {
				this.#reach.failed(error);
				await this.#q.clock.sleep(pause, this.#closing.signal);
			}
		}
	}

	#refuseClosed(): void {
		if (this.#closing.signal.aborted) throw new StoreUnavailable("closed", "The store is closed.");
	}

	async #connected(waitMs: number): Promise<Client> {
		if (this.#client) return this.#client;
		this.#refuseClosed();
		this.#connecting ??= this.#connectEventually().finally(() => (this.#connecting = undefined));
		this.#connecting.catch(() => {});
		const enough = new AbortController();
		const late = this.#q.clock.sleep(waitMs, enough.signal).then(() => undefined);
		try {
			const made = await Promise.race([this.#connecting, late]);
			if (made) return made;
		} finally {
			enough.abort();
		}
		throw new StoreUnavailable("unreachable", `PostgreSQL at ${this.#q.name} cannot be reached: ${this.#reach.why}.`);
	}

	async #reachable(waitMs = Infinity): Promise<Client> {
		return await this.#connected(Math.min(waitMs, this.#reach.left()));
	}
}
