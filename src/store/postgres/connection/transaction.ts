/**
 * One transaction on a connection: all of it or nothing, run again when another one was in its way
 * or its connection was lost.
 */
import type { Clock } from "../../../clock.ts";
import type { Connection } from "./connection.ts";
import { isContended, losesConnection, OutcomeUnknown } from "./errors.ts";
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
const NAME = statement("SELECT pg_current_xact_id()::text");
const STATUS = statement("SELECT pg_xact_status($1::text::xid8)");

/** What the work of a transaction hands over to its end. */
export interface Ending {
	/**
	 * Writes that nothing depends on, instead of awaiting them: the end leaves in their round trip,
	 * and all is undone when one of them fails.
	 */
	writes(last: Promise<unknown>): void;
	/** The number of the transaction, where a statement of the work has given it. */
	number(transactionId: string): void;
}

/** What is done in a transaction; it awaits all that it asks but for what it hands over. */
export type Work<T> = (runner: Runner, ending: Ending) => Promise<T>;

/**
 * What a transaction is run on. `since`: when its callers began to wait, ms since the epoch; now by
 * default. `tellsNumber`: the work will most likely tell the transaction's number, which is not
 * asked for otherwise.
 */
export interface TransactionOptions {
	connection: Pick<Connection, "session">;
	clock: Clock;
	since?: number;
	tellsNumber?: boolean;
}

/** Whether the transaction of this number was committed; undefined while its end is open. */
export async function isCommitted(
	{ run }: Runner,
	transactionId: string,
): Promise<boolean | undefined> {
	const status = (await run(STATUS, [transactionId])).rows[0]?.[0];
	return status === "in progress" ? undefined : status === "committed";
}

/**
 * Runs `work` in a transaction of its own, several times perhaps. When the connection breaks while
 * the end is under way, the database is asked what became of it: the answer is never a guess.
 * Throws {@link OutcomeUnknown} when it cannot be asked.
 */
export async function transaction<T>(
	{ connection, clock, since = clock.now(), tellsNumber = false }: TransactionOptions,
	work: Work<T>,
): Promise<T> {
	const until = since + PATIENCE_MS;
	const left = (): number => until - clock.now();

	/**
	 * Whether a transaction whose end got no answer was committed. `first`: how its answer was lost.
	 */
	async function outcome(transactionId: string, first: unknown): Promise<boolean> {
		try {
			do {
				const known = await isCommitted(await connection.session(left()), transactionId);
				if (known !== undefined) return known;
				await clock.sleep(PAUSE_MS);
			} while (left() > 0);
		} catch {
			// What the caller is told is how it began.
		}
		throw new OutcomeUnknown(transactionId, { cause: first });
	}

	for (let tried = 1; ; tried += 1) {
		const session = await connection.session(left());
		let result: T;
		let told: string | undefined;
		let ending: string | undefined;
		let writes: Promise<unknown> | undefined;
		let failure: { error: unknown } | undefined;
		try {
			// Not awaited alone: they leave with the first statement of the work. The number is known
			// before the end is under way.
			const begun = Promise.all([session.run(BEGIN), ...(tellsNumber ? [] : [session.run(NAME)])]);
			begun.catch(() => {});
			result = await work(session, {
				writes(last) {
					writes = last;
					writes.catch((error: unknown) => (failure = { error }));
				},
				number: (transactionId) => (told = transactionId),
			});
			const [, named] = await begun;
			// After a write that failed it would not be told.
			if (told === undefined && !named) await writes;
			// One that was never sent: the database knows of no failure.
			if (failure) throw failure.error;
			ending = told ?? String((named ?? (await session.run(NAME))).rows[0]?.[0]);
			const [end] = await Promise.all([session.run(COMMIT), writes]);
			if (end.command === "ROLLBACK")
				throw new Error("The transaction was undone by an earlier failure in it.");
			return result;
		} catch (error) {
			const lost = losesConnection(error);
			if (!lost) await session.run(ROLLBACK).catch(() => {});
			else if (ending !== undefined && (await outcome(ending, error))) return result!;
			const again = tried < TRIES && (lost ? left() > 0 : isContended(error));
			if (!again) throw error;
		}
	}
}
