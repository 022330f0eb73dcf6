/**
 * Markers of our own by which a server knows whether a transaction was committed when its COMMIT
 * got no answer. PostgreSQL's transaction numbers do not say it: one whose WAL was not flushed
 * leaves no trace in a crash, and its number is given to another transaction after recovery or
 * promotion, so that `pg_xact_status` says "committed" of somebody else's.
 *
 * Each connection has a random session id and counts its transactions. Right before COMMIT, in the
 * same round trip, a transaction that wrote anything upserts (session, serial). It is committed
 * exactly if that row has its serial afterwards.
 *
 * After a lost answer the row is asked by a transaction that writes to it ({@link isCommitted}),
 * never only read:
 *
 * - The write waits for the row's lock while the old transaction is open past its marker. Its end
 *   is known then, not guessed.
 * - The write closes the session: where the old transaction has not come to its marker yet (its
 *   statements may still be in a socket), the marker fails, and the transaction with it. So "not
 *   committed" stays true.
 * - Its own commit proves that all WAL before it is flushed and, with synchronous standbys,
 *   replicated. A wait for a standby that was cut short leaves the old transaction visible here,
 *   though a promotion may still lose it.
 */
import type { Runner } from "./statement.ts";
import { statement } from "./statement.ts";

/** A transaction of a session. */
export interface Marker {
	readonly session: string;
	/** Counts the transactions of the session, from 1. */
	readonly serial: number;
}

/**
 * NULL is refused by the column: the whole transaction fails. One that has no transaction number
 * has written nothing and locked no row, and needs no marker.
 */
const MARK = statement(`
  INSERT INTO commit_markers AS known (session, serial) SELECT $1::text, $2::int8 WHERE pg_current_xact_id_if_assigned() IS NOT NULL
  ON CONFLICT (session) DO UPDATE SET serial = CASE WHEN known.closed THEN NULL ELSE excluded.serial END, at = excluded.at`);

const ASK = statement(`
  INSERT INTO commit_markers (session, serial, closed) VALUES ($1::text, 0, true)
  ON CONFLICT (session) DO UPDATE SET closed = true, at = excluded.at RETURNING serial`);

/**
 * For the present transaction. Nothing bounds its COMMIT: no timeout of PostgreSQL ends a wait for
 * a synchronous standby.
 */
const LIMIT = statement("SELECT set_config('lock_timeout', $1::text, true)");

/**
 * Each new session removes more rows than it adds. An idle session whose row is removed adds it
 * again.
 */
const REMOVE_OLD = statement(`
  WITH old AS MATERIALIZED (SELECT session FROM commit_markers WHERE at < now() - interval '1 hour' LIMIT 100 FOR UPDATE SKIP LOCKED)
  DELETE FROM commit_markers USING old WHERE commit_markers.session = old.session`);

/**
 * How long after its loss a transaction may be asked about, ms: well below the age at which rows
 * are removed.
 */
export const ASKED_MS = 600_000;

/**
 * Sends the marker of a transaction, to be followed by COMMIT. The first transaction of a session
 * also removes markers that nobody asks for any more.
 */
export function mark({ run }: Runner, { session, serial }: Marker): Promise<unknown> {
	const removed = serial === 1 ? run(REMOVE_OLD) : undefined;
	return Promise.all([removed, run(MARK, [session, serial])]);
}

/**
 * Whether the transaction was committed. To be run in a transaction, whose commit must succeed
 * before the answer is believed. Throws where the old transaction is open for longer than `waitMs`.
 */
export async function isCommitted(
	{ run }: Runner,
	{ session, serial }: Marker,
	waitMs: number,
): Promise<boolean> {
	const [, { rows }] = await Promise.all([
		run(LIMIT, [String(Math.ceil(waitMs))]),
		run(ASK, [session]),
	]);
	return rows[0]?.[0] === serial;
}
