/** A transaction that is run again after a conflict with another one or a lost connection. */
import type { Clock } from "../../../clock.ts";
import { isCommitted, mark } from "./commit-markers.ts";
import type { Marker } from "./commit-markers.ts";
import type { Connection } from "./connection.ts";
import { isContended, losesConnection, OutcomeUnknown } from "./errors.ts";
import { late } from "./timeouts.ts";
import type { Runner } from "./statement.ts";
import { statement } from "./statement.ts";

/** Attempts before the error is thrown. */
const TRIES = 5;

/** After so long a lost connection is not retried, ms: callers get their 503 within 2 s. */
const PATIENCE_MS = 1900;

/** Pause between two reads of the marker of a transaction whose end is open, ms. */
const PAUSE_MS = 50;

const BEGIN = statement("BEGIN ISOLATION LEVEL READ COMMITTED");
const COMMIT = statement("COMMIT");
const ROLLBACK = statement("ROLLBACK");

export interface Ending {
	/**
	 * Takes writes that the work need not await: COMMIT leaves in their round trip, and all is undone
	 * when one of them fails. All must have been sent when this is called.
	 */
	writes(last: Promise<unknown>): void;
}

/** The statements of a transaction; awaits all but those given to `ending`. */
export type Work<T> = (runner: Runner, ending: Ending) => Promise<T>;

/** `since`: when the callers began to wait, ms since the epoch; now by default. */
export interface TransactionOptions {
	connection: Pick<Connection, "session" | "drop">;
	clock: Clock;
	since?: number;
}

/**
 * Runs `work` in a transaction, perhaps several times. When the connection breaks while the COMMIT
 * is in flight, its marker is read on a new one (`commit-markers.ts`): the outcome is never guessed.
 * Throws {@link OutcomeUnknown} when the marker cannot be read.
 */
export async function transaction<T>(
	{ connection, clock, since = clock.now() }: TransactionOptions,
	work: Work<T>,
): Promise<T> {
	const until = since + PATIENCE_MS;
	const left = (): number => until - clock.now();

	/**
	 * Reads the marker in a transaction that is committed. If its own COMMIT waits too long for a
	 * synchronous standby, the connection is dropped.
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

	/** Whether the transaction was committed. `first`: how the answer to its COMMIT was lost. */
	async function outcome(marker: Marker, first: unknown): Promise<boolean> {
		do {
			try {
				return await ask(marker);
			} catch {
				// Lost again, or the transaction is still open. The first loss is reported.
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
			// Not awaited alone: it is sent with the first statement of the work.
			const begun = session.run(BEGIN);
			begun.catch(() => {});
			result = await work(session, {
				writes(last) {
					writes = last;
					writes.catch((error: unknown) => (failure = { error }));
				},
			});
			await begun;
			// A write that was never sent: the database knows of no failure.
			if (failure) throw failure.error;
			marker = session.nextMarker();
			const marked = mark(session, marker);
			const ended = session.run(COMMIT);
			for (const each of [marked, ended]) each.catch(() => {});
			// In the order of sending: after a failure, later statements only report that there was one.
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
