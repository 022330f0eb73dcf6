/**
 * Signals between servers by LISTEN and NOTIFY, on one connection. Those of one event-loop turn share a statement,
 * after their commits: NOTIFY inside a transaction would serialize commits. The same connection polls the database's
 * health.
 */
import type { Clock } from "../../system/clock.ts";
import type { Signal } from "../contract/store.ts";
import type { Notify } from "./rows/unit-of-work.ts";
import { texts } from "./connection/arrays.ts";
import { SESSION_LOCKS } from "./connection/session-liveness.ts";
import type { Connection } from "./connection/connection.ts";
import type { Database } from "./connection/database.ts";
import { lostAnswers } from "./connection/lost-answers.ts";
import { late } from "./connection/timeouts.ts";
import { type Runner, statement } from "./connection/statement.ts";

const CHANNEL = "sluice";

/** Bytes per notification; PostgreSQL allows 8000. */
const MOST_BYTES = 7900;

/** Poll interval and longest wait for an answer, ms: a client gets its 503 within 2 s. */
const ASK_MS = 500;
const SILENT_MS = 1200;

/** Pause between attempts to take the session lock, ms. */
const SHOW_MS = 50;

const NOTIFY = statement(`SELECT pg_notify('${CHANNEL}', payload) FROM unnest($1::text[]) AS payload`);
const ALIVE = statement("SELECT 1");
// The lock of a connection that died silently is held for some seconds.
const SHOW = statement(`SELECT pg_try_advisory_lock(${SESSION_LOCKS}, $1::int4) AS shown`);

function payloadsOf(session: number, signals: readonly Signal[]): string[] {
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
		// Too long for a notification: dropped; signals may be lost.
		if (bytes + size > MOST_BYTES) continue;
		parts.push(text);
		bytes += size;
	}
	close();
	return payloads;
}

/** `session` identifies this server. If the database does not answer, all connections are dropped. */
export function openSignals({
	clock,
	session,
	database,
}: {
	clock: Clock;
	session: number;
	database: Pick<Database, "another" | "silent" | "waiting">;
}) {
	const listeners = new Set<(signal: Signal, elsewhere: boolean) => void>();
	const dropLost = lostAnswers(clock, database);
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

	function send(): void {
		scheduled = false;
		const payloads = payloadsOf(session, gathered);
		gathered = [];
		// Polls make up for lost signals.
		connection.run(NOTIFY, [texts(payloads)]).catch(() => {});
	}

	/** One that is being made fails on its own. */
	async function ask(present: Runner): Promise<void> {
		const answered = new AbortController();
		void late(clock, SILENT_MS, answered.signal).then((isLate) => isLate && database.silent());
		try {
			if (isShown) await Promise.all([present.run(ALIVE), dropLost(present)]);
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
		notify: {
			own: (signals: readonly Signal[]) => emit(signals, false),
			others(signals: readonly Signal[]) {
				if (alone || signals.length === 0 || stopped.signal.aborted) return;
				gathered.push(...signals);
				if (scheduled) return;
				scheduled = true;
				setImmediate(send);
			},
		} satisfies Notify,
		onSignal(listener: (signal: Signal, elsewhere?: boolean) => void): () => void {
			const own = (signal: Signal, elsewhere: boolean): void => listener(signal, elsewhere);
			listeners.add(own);
			return () => listeners.delete(own);
		},
		/**
		 * Resolves once others can see this server's session lock, which its reservations need. Throws `StoreUnavailable`.
		 */
		async shown(): Promise<void> {
			const present = await connection.session();
			if (!isShown) await ask(present);
		},
		/** Whether no other server is alive: then no signals are sent. */
		setAlone(now: boolean): void {
			alone = now;
		},
		async close(): Promise<void> {
			stopped.abort();
			await connection.close();
			await watching;
		},
	};
}
