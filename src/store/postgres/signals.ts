/**
 * Hints between servers by LISTEN and NOTIFY, on one connection of this server: those of a turn
 * leave as one, after their commits, so that no commit waits for another one's. Ids only. The same
 * connection is asked again and again whether the database lives.
 */
import type { Clock } from "../../clock.ts";
import type { Signal } from "../contract/store.ts";
import type { Hints } from "./rows/run-unit-of-work.ts";
import { texts } from "./connection/arrays.ts";
import { SESSION_LOCKS } from "./rows/session-liveness.ts";
import type { Connection } from "./connection/connection.ts";
import type { Database } from "./connection/database.ts";
import { late } from "./connection/timeouts.ts";
import { statement } from "./connection/statement.ts";
import type { Runner } from "./connection/statement.ts";

/** The channel of all servers. */
const CHANNEL = "sluice";

/** Most bytes of one notification, by PostgreSQL's bound of 8000. */
const MOST_BYTES = 7900;

/**
 * How often the database is asked whether it lives, and how long it may take to answer, ms.
 * Together below 2 s, in which a client gets its 503.
 */
const ASK_MS = 500;
const SILENT_MS = 1200;

/**
 * How soon this server tries again to show that it lives, ms: the lock of a connection that it lost
 * is free a moment later.
 */
const SHOW_MS = 50;

const NOTIFY = statement(
	`SELECT pg_notify('${CHANNEL}', payload) FROM unnest($1::text[]) AS payload`,
);
const ALIVE = statement("SELECT 1");
// Tried, not waited for: where a connection died without a word, its lock stays for some seconds.
const SHOW = statement(`SELECT pg_try_advisory_lock(${SESSION_LOCKS}, $1::int4) AS shown`);

/** Signals of this server and of the others. */
export interface Signals {
	hints: Hints;
	onSignal(listener: (signal: Signal, elsewhere?: boolean) => void): () => void;
	/** Whether other servers live, as far as is known: without any, nothing is told. */
	setAlone(alone: boolean): void;
	/**
	 * Resolves when others can see that this server lives: before it reserves what is free again when
	 * it does not. Throws `StoreUnavailable`.
	 */
	shown(): Promise<void>;
	close(): Promise<void>;
}

/**
 * `session` is this server's, in hints and in the lock that shows that it lives. The database is
 * told when it was found silent.
 */
export function openSignals({
	clock,
	session,
	database,
}: {
	clock: Clock;
	session: number;
	database: Pick<Database, "another" | "silent">;
}): Signals {
	const listeners = new Set<(signal: Signal, elsewhere: boolean) => void>();
	const stopped = new AbortController();
	let gathered: Signal[] = [];
	let scheduled = false;
	let alone = false;
	let connections = 0;
	let isShown = false;

	function emit(signals: readonly Signal[], elsewhere: boolean): void {
		for (const signal of signals) for (const listener of listeners) listener(signal, elsewhere);
	}

	function heard(payload: string): void {
		const [from, ...signals] = JSON.parse(payload) as [number, ...Signal[]];
		if (from !== session) emit(signals, true);
	}

	const connection: Connection = database.another({
		async onConnect(client) {
			client.on("notification", ({ payload }) => payload !== undefined && heard(payload));
			await client.query(`LISTEN ${CHANNEL}`);
			const { rows } = await client.query<{ shown: boolean }>(SHOW.text, [session]);
			isShown = rows[0]?.shown === true;
			connections += 1;
			if (connections > 1) emit([{ kind: "lost" }], true);
		},
	});

	/** Payloads that hold the signals, each as full as it may be. */
	function payloadsOf(signals: readonly Signal[]): string[] {
		const payloads: string[] = [];
		let parts: string[] = [];
		let bytes = 0;
		const close = (): void => {
			if (parts.length > 0) payloads.push(`[${session},${parts.join(",")}]`);
			parts = [];
			bytes = 16;
		};
		close();
		for (const signal of signals) {
			const text = JSON.stringify(signal);
			const size = Buffer.byteLength(text) + 1;
			if (bytes + size > MOST_BYTES) close();
			// A hint that fits nowhere is lost, as hints may be.
			if (bytes + size > MOST_BYTES) continue;
			parts.push(text);
			bytes += size;
		}
		close();
		return payloads;
	}

	function send(): void {
		scheduled = false;
		const payloads = payloadsOf(gathered);
		gathered = [];
		// Hints: those that fail are made up for by everybody's own looks.
		connection.run(NOTIFY, [texts(payloads)]).catch(() => {});
	}

	/** Asks on a connection that is there: one that is being made fails by itself. */
	async function ask(present: Runner): Promise<void> {
		const answered = new AbortController();
		void late({ clock, ms: SILENT_MS, answered: answered.signal }).then(
			(isLate) => isLate && database.silent(),
		);
		try {
			if (isShown) await present.run(ALIVE);
			else isShown = (await present.run(SHOW, [session])).rows[0]?.[0] === true;
		} finally {
			answered.abort();
		}
	}

	async function watch(): Promise<void> {
		while (!stopped.signal.aborted) {
			await connection
				.session()
				.then(ask)
				.catch(() => {});
			await clock.sleep(isShown ? ASK_MS : SHOW_MS, stopped.signal);
		}
	}
	const watching = watch();

	return {
		hints: {
			own: (signals) => emit(signals, false),
			others(signals) {
				if (alone || signals.length === 0 || stopped.signal.aborted) return;
				gathered.push(...signals);
				if (scheduled) return;
				scheduled = true;
				setImmediate(send);
			},
		},
		onSignal(listener) {
			const own = (signal: Signal, elsewhere: boolean): void => listener(signal, elsewhere);
			listeners.add(own);
			return () => listeners.delete(own);
		},
		async shown() {
			const present = await connection.session();
			if (!isShown) await ask(present);
		},
		setAlone(now) {
			alone = now;
		},
		async close() {
			stopped.abort();
			await connection.close();
			await watching;
		},
	};
}
