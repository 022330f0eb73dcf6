import type { Clock } from "../../../system/clock.ts";
import { isCommitted, LOCK_LIMIT, mark, type Marker } from "./commit-markers.ts";
import type { Connection } from "./connection.ts";
import { isContended, losesConnection, OutcomeUnknown } from "./errors.ts";
import { late } from "./timeouts.ts";
import type { Runner, Statement } from "./statement.ts";

const TRIES = 5;

/** Time after which a lost connection is not retried, ms: callers get their 503 within 2 s. */
const PATIENCE_MS = 1900;

/** Pause between reads of the marker, ms. */
const PAUSE_MS = 50;

const BEGIN: Statement = { text: "BEGIN ISOLATION LEVEL READ COMMITTED" };
const COMMIT: Statement = { text: "COMMIT" };
const ROLLBACK: Statement = { text: "ROLLBACK" };

export interface Ending {
	/**
	 * Adds writes that the work does not await: COMMIT is sent in the same round trip, and a failed write rolls all back.
	 * They must have been sent before.
	 */
	writes(last: Promise<unknown>): void;
}

/** The work of a transaction. It awaits all its statements except those given to `ending`. */
export type Work<T> = (runner: Runner, ending: Ending) => Promise<T>;

/** `since`: when callers began to wait, ms since the epoch. `lockMs`: longest wait for a lock. */
interface TransactionOptions {
	connection: Pick<Connection, "session" | "drop">;
	clock: Clock;
	since?: number;
	lockMs?: number | undefined;
}

/**
 * Runs `work` in a transaction, possibly several times. If the connection is lost during COMMIT, the marker is read on
 * a new one (`commit-markers.ts`). Throws {@link OutcomeUnknown} if it cannot be read.
 */
export async function transaction<T>(
	{ connection, clock, since = clock.now(), lockMs }: TransactionOptions,
	work: Work<T>,
): Promise<T> {
	const until = since + PATIENCE_MS;
	const left = (): number => until - clock.now();

	/** Drops the connection if its own COMMIT waits too long for a synchronous standby. */
	async function ask(marker: Marker): Promise<boolean> {
		const session = await connection.session(left());
		const waitMs = Math.max(left(), PAUSE_MS);
		const answered = new AbortController();
		void late(clock, waitMs + PAUSE_MS, answered.signal).then((isLate) => isLate && connection.drop());
		try {
			const [, committed, end] = await Promise.all([
				session.run(BEGIN),
				isCommitted(session, marker, waitMs),
				session.run(COMMIT),
			]);
			if (end.command === "ROLLBACK") throw new Error("The marker of a transaction could not be written.");
			return committed;
		} finally {
			answered.abort();
		}
	}

	/** Finds out whether a transaction was committed. `first`: the error by which the answer to its COMMIT was lost. */
	async function outcome(marker: Marker, first: unknown): Promise<boolean> {
		do {
			try {
				return await ask(marker);
			} catch {
				// Lost again, or the transaction is still open. The first error is reported.
				await clock.sleep(PAUSE_MS);
			}
		} while (left() > 0);
		throw new OutcomeUnknown(marker, { cause: first });
	}

	for (let tried = 1; ; tried += 1) {
		const session = await connection.session(left());
		let result: T;
		let marker: Marker | undefined;
		let writes: Promise<unknown> | undefined;
		let failure: { error: unknown } | undefined;
		try {
			// Not awaited: sent with the first statement of the work.
			const begun = session.run(BEGIN);
			begun.catch(() => {});
			if (lockMs !== undefined) session.run(LOCK_LIMIT, [String(lockMs)]).catch(() => {});
			result = await work(session, {
				writes(last) {
					writes = last;
					writes.catch((error: unknown) => (failure = { error }));
				},
			});
			await begun;
			// The write was never sent, so the database does not know of the failure.
			if (failure) throw failure.error;
			marker = session.nextMarker();
			const marked = mark(session, marker);
			const ended = session.run(COMMIT);
			for (const each of [marked, ended]) each.catch(() => {});
			// In sending order: after a failure, later statements only report that one occurred.
			await writes;
			await marked;
			const end = await ended;
			if (end.command === "ROLLBACK") throw new Error("The transaction was undone by an earlier failure in it.");
			return result;
		} catch (error) {
			const lost = losesConnection(error);
			if (!lost) await session.run(ROLLBACK).catch(() => {});
			else if (marker && (await outcome(marker, error))) return result!;
			const again = tried < TRIES && (lost ? left() > 0 : isContended(error));
			if (!again) throw error;
		}
	}
}
