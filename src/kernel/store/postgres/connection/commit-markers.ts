/**
 * Markers that show whether a transaction was committed when its COMMIT got no answer (decision 0017). Transaction ids
 * cannot: after a crash or promotion the id of a lost transaction is reused.
 *
 * A transaction that wrote anything upserts (session, serial) right before COMMIT. It is committed exactly if that row
 * then has its serial. {@link isCommitted} writes to the row instead of only reading it:
 * - The write waits for the row's lock while the old transaction is open after its marker.
 * - The write closes the session: a transaction that has not reached its marker yet will fail.
 * - Its commit proves that all earlier WAL is flushed and, with synchronous standbys, replicated. If a wait for a
 *   standby was cut short, the old transaction is visible although a promotion may lose it.
 */
import { type Runner, statement } from "./statement.ts";

export interface Marker {
	readonly session: string;
	/** Counts the transactions of the session, from 1. */
	readonly serial: number;
}

const WROTE = "pg_current_xact_id_if_assigned() IS NOT NULL";

/**
 * NULL is refused, which fails the whole transaction. A transaction without an id has written and locked nothing. An
 * upsert alone would log a lock of the row each time.
 */
const MARK = statement(`
  WITH marked AS (
    UPDATE commit_markers SET serial = CASE WHEN closed THEN NULL ELSE $2::int8 END, at = now()
    WHERE session = $1::text AND ${WROTE} RETURNING session
  )
  INSERT INTO commit_markers AS known (session, serial)
  SELECT $1::text, $2::int8 WHERE ${WROTE} AND NOT EXISTS (SELECT FROM marked)
  ON CONFLICT (session) DO UPDATE
  SET serial = CASE WHEN known.closed THEN NULL ELSE excluded.serial END, at = excluded.at`);

const ASK = statement(`
  INSERT INTO commit_markers (session, serial, closed) VALUES ($1::text, 0, true)
  ON CONFLICT (session) DO UPDATE SET closed = true, at = excluded.at RETURNING serial`);

/** Limits waits for locks, except in COMMIT, which may wait for a synchronous standby. */
export const LOCK_LIMIT = statement("SELECT set_config('lock_timeout', $1::text, true)");

/**
 * The age is far beyond {@link ASKED_MS}, since the clock of a promoted standby may be ahead. An idle session adds its
 * row again.
 */
const REMOVE_OLD = statement(`
  WITH old AS MATERIALIZED (
    SELECT session FROM commit_markers WHERE at < now() - interval '30 days'
    LIMIT 100 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM commit_markers USING old WHERE commit_markers.session = old.session`);

/** How long after a lost connection the marker may be read, ms: well below the age at which markers are removed. */
export const ASKED_MS = 600_000;

/** Writes the marker. Call right before COMMIT. The first transaction of a session also removes old markers. */
export function mark({ run }: Runner, { session, serial }: Marker): Promise<unknown> {
	const removed = serial === 1 ? run(REMOVE_OLD) : undefined;
	return Promise.all([removed, run(MARK, [session, serial])]);
}

/**
 * Whether the transaction of a marker was committed. The result is valid only once the transaction that reads it is
 * committed. Throws if the old transaction stays open for longer than `waitMs`.
 */
export async function isCommitted({ run }: Runner, { session, serial }: Marker, waitMs: number): Promise<boolean> {
	const [, { rows }] = await Promise.all([run(LOCK_LIMIT, [String(Math.ceil(waitMs))]), run(ASK, [session])]);
	return rows[0]?.[0] === serial;
}
