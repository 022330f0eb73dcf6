/**
 * Markers that show whether a transaction was committed when its COMMIT got no answer (decision
 * 0024). PostgreSQL's transaction numbers do not: after a crash or promotion the number of a lost
 * transaction is used again, and `pg_xact_status` answers for the other one.
 *
 * Each connection has a random session id and counts its transactions. Right before COMMIT, in the
 * same round trip, a transaction that wrote anything upserts (session, serial). It is committed
 * exactly if that row then has its serial.
 *
 * After a lost answer a transaction writes to the row ({@link isCommitted}) instead of only reading:
 *
 * - The write waits for the row's lock while the old transaction is open after its marker.
 * - The write closes the session: if the old transaction has not reached its marker yet (its
 *   statements may still be in a socket), the marker and the transaction fail. So "not committed"
 *   stays true.
 * - Its own commit proves that all WAL before it is flushed and, with synchronous standbys,
 *   replicated. After a wait for a standby that was cut short, the old transaction is visible here
 *   although a promotion may lose it.
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
 * The column refuses NULL, and so the whole transaction fails. A transaction without a number has
 * written nothing and locked no row, and needs no marker.
 */
const MARK = statement(`
  INSERT INTO commit_markers AS known (session, serial)
  SELECT $1::text, $2::int8 WHERE pg_current_xact_id_if_assigned() IS NOT NULL
  ON CONFLICT (session) DO UPDATE
  SET serial = CASE WHEN known.closed THEN NULL ELSE excluded.serial END, at = excluded.at`);

const ASK = statement(`
  INSERT INTO commit_markers (session, serial, closed) VALUES ($1::text, 0, true)
  ON CONFLICT (session) DO UPDATE SET closed = true, at = excluded.at RETURNING serial`);

/** For this transaction. No timeout bounds its COMMIT, which may wait for a synchronous standby. */
const LIMIT = statement("SELECT set_config('lock_timeout', $1::text, true)");

/** Each new session may remove more rows than it adds. An idle session adds its row again. */
const REMOVE_OLD = statement(`
  WITH old AS MATERIALIZED (
    SELECT session FROM commit_markers WHERE at < now() - interval '1 hour'
    LIMIT 100 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM commit_markers USING old WHERE commit_markers.session = old.session`);

/** How long after its loss a transaction's marker may be read, ms: well below the removal age. */
export const ASKED_MS = 600_000;

/**
 * Sends the marker of a transaction, to be followed by COMMIT. The first transaction of a session
 * also removes old markers.
 */
export function mark({ run }: Runner, { session, serial }: Marker): Promise<unknown> {
	const removed = serial === 1 ? run(REMOVE_OLD) : undefined;
	return Promise.all([removed, run(MARK, [session, serial])]);
}

/**
 * Whether the transaction was committed. Runs in a transaction, and is valid only once that has been
 * committed. Throws when the old transaction stays open for longer than `waitMs`.
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
