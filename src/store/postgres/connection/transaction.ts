/**
 * One transaction on a connection: all of it or nothing, run again when another one was in its way
 * or its connection was lost.
 */
import type { Clock } from "../../../clock.ts";
import { isCommitted, mark } from "./commit-markers.ts";
import type { Marker } from "./commit-markers.ts";
import type { Connection } from "./connection.ts";
import { isContended, losesConnection, OutcomeUnknown } from "./errors.ts";
import { late } from "./timeouts.ts";
import type { Runner } from "./statement.ts";
import { statement } from "./statement.ts";

/** Times that a transaction is run before its fault is told. */
const TRIES = 5;

/**
 * A caller is told within 2 s that the database is away: after so long nothing is tried again that
 * a broken connection undid, ms.
 */
const PATIENCE_MS = 1900;

/** Pause between two questions after a transaction whose end is still open, ms. */
const PAUSE_MS = 50;

const BEGIN = statement("BEGIN ISOLATION LEVEL READ COMMITTED");
const COMMIT = statement("COMMIT");
const ROLLBACK = statement("ROLLBACK");

/** What the work of a transaction hands over to its end. */
export interface Ending {
	/**
	 * Writes that nothing depends on, instead of awaiting them: the end leaves in their round trip,
	 * and all is undone when one of them fails. All are sent when this is called.
	 */
	writes(last: Promise<unknown>): void;
}

/** What is done in a transaction; it awaits all that it asks but for what it hands over. */
export type Work<T> = (runner: Runner, ending: Ending) => Promise<T>;

/**
 * What a transaction is run on. `since`: when its callers began to wait, ms since the epoch; now by
 * default.
 */
export interface TransactionOptions {
	connection: Pick<Connection, "session" | "drop">;
	clock: Clock;
	since?: number;
}

/**
 * Runs `work` in a transaction of its own, several times perhaps. When the connection breaks while
 * the end is in flight, its marker is asked for on a new one (`commit-markers.ts`): the answer is
 * never a guess. Throws {@link OutcomeUnknown} when it cannot be asked.
 */
export async function transaction<T>(
	{ connection, clock, since = clock.now() }: TransactionOptions,
	work: Work<T>,
): Promise<T> {
	const until = since + PATIENCE_MS;
	const left = (): number => until - clock.now();

	/**
	 * Asks once, in a transaction that is committed. Where its own COMMIT waits for a synchronous
	 * standby, the connection is given up in time.
	 */
	async function ask(marker: Marker): Promise<boolean> {
		const session = await connection.session(left());
		const waitMs = Math.max(left(), PAUSE_MS);
		const answered = new AbortController();
		void late({ clock, ms: waitMs + PAUSE_MS, answered: answered.signal }).then(
			(isLate) => isLate && connection.drop(),
		);
		try {
			const [, committed, end] = await Promise.all([
				session.run(BEGIN),
				isCommitted(session, marker, waitMs),
				session.run(COMMIT),
			]);
			if (end.command === "ROLLBACK")
				throw new Error("The marker of a transaction could not be written.");
			return committed;
		} finally {
			answered.abort();
		}
	}

	/**
	 * Whether a transaction whose end got no answer was committed. `first`: how its answer was lost.
	 */
	async function outcome(marker: Marker, first: unknown): Promise<boolean> {
		do {
			try {
				return await ask(marker);
			} catch {
				// Lost again, or the transaction is still open. What the caller is told is how it began.
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
			// Not awaited alone: it leaves with the first statement of the work.
			const begun = session.run(BEGIN);
			begun.catch(() => {});
			result = await work(session, {
				writes(last) {
					writes = last;
					writes.catch((error: unknown) => (failure = { error }));
				},
			});
			await begun;
			// One that was never sent: the database knows of no failure.
			if (failure) throw failure.error;
			marker = session.nextMarker();
			const marked = mark(session, marker);
			const ended = session.run(COMMIT);
			for (const each of [marked, ended]) each.catch(() => {});
			// In the order in which they were sent: after a failure the later ones only say that there
			// was one.
			await writes;
			await marked;
			const end = await ended;
			if (end.command === "ROLLBACK")
				throw new Error("The transaction was undone by an earlier failure in it.");
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
