/**
 * Purges a queue (D11): a new epoch hides its waiting jobs at once; their rows are removed later in steps. Takes
 * exclusively the lock that other transactions on the queue share.
 */
import { WAITING } from "../../row.ts";
import type { Database } from "../connection/database.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { QUEUE_LOCKS } from "../rows/queues.ts";
import { type Runner, statement, type Value } from "../connection/statement.ts";

const LOCK = statement(`SELECT pg_advisory_xact_lock(${QUEUE_LOCKS}, hashtext($1::text))`);
const LAST = statement(`
  SELECT max(rank) FROM (
    (SELECT rank FROM jobs WHERE endpoint = $1 AND low_priority = false AND state = '${WAITING}'
      ORDER BY rank DESC LIMIT 1)
    UNION ALL (SELECT rank FROM jobs WHERE endpoint = $1 AND low_priority = true
      AND state = '${WAITING}' ORDER BY rank DESC LIMIT 1)
  ) AS ends`);
const MARK = statement(
	"UPDATE queues SET epoch = epoch + 1, purged_to = greatest(purged_to, $2::int8) WHERE endpoint = $1",
);
const UNCOUNT = statement("UPDATE queue_counts SET in_queue = 0, in_queue_low = 0 WHERE endpoint = $1");

/** Subtracts from the counts of the first slot, which may belong to another connection. */
const UNSTORED = statement(`
  UPDATE queue_counts SET stored_bytes = stored_bytes - $2 WHERE endpoint = $1
    AND slot = (SELECT min(slot) FROM queue_counts WHERE endpoint = $1)`);

const DIRTY = statement("SELECT endpoint, epoch FROM queues WHERE cleaned < epoch ORDER BY endpoint");
const CLEANED = statement("UPDATE queues SET cleaned = greatest(cleaned, $2) WHERE endpoint = $1");
/** The counts exclude purged jobs already. */
const REMOVE = statement(`
  WITH chosen AS (
    SELECT endpoint, id FROM jobs WHERE endpoint = $1 AND low_priority = $2 AND state = '${WAITING}'
      AND epoch < $3 ORDER BY rank LIMIT $4 FOR UPDATE
  ), removed AS (
    DELETE FROM jobs USING chosen WHERE jobs.endpoint = chosen.endpoint AND jobs.id = chosen.id
      RETURNING jobs.endpoint, jobs.id, past, next_chunk, input_bytes + output_bytes AS bytes
  ), without_attempts AS (
    DELETE FROM attempts USING removed WHERE removed.past
      AND attempts.endpoint = removed.endpoint AND attempts.job = removed.id
  ), without_chunks AS (
    DELETE FROM chunks USING removed WHERE removed.next_chunk > 0
      AND chunks.endpoint = removed.endpoint AND chunks.job = removed.id
  )
  SELECT count(*), sum(bytes)::int8 FROM removed`);

export async function purge(
	{ run, queues, due, flush, signal, notifyOthers }: UnitOfWork,
	{ endpoint, now }: { endpoint: string; now: number },
): Promise<number> {
	// From here on no other transaction writes to the queue.
	await run(LOCK, [endpoint]);
	await queues.read([endpoint], now);
	const queue = queues.of(endpoint);
	while (queue.due) await due.freshen(queue, now);
	await flush();
	const removed = queue.counts.inQueue;
	if (removed === 0) return 0;
	const last = (await run(LAST, [endpoint])).rows[0]?.[0] ?? 0;
	await Promise.all([run(MARK, [endpoint, last]), run(UNCOUNT, [endpoint])]);
	for (const send of [signal, notifyOthers]) send({ kind: "purged", endpoint });
	return removed;
}

/** Removes rows of purged jobs and returns whether there may be more. Writes nothing if there are none. */
export async function removePurged({ read, write }: Pick<Database, "read" | "write">, limit: number): Promise<boolean> {
	const { rows } = await read.run(DIRTY);
	return rows.length > 0 && (await write(({ run }) => removeFrom(run, rows, limit)));
}

async function removeFrom(run: Runner["run"], dirty: readonly Value[][], limit: number): Promise<boolean> {
	let left = limit;
	const stored: [endpoint: Value, bytes: number][] = [];
	for (const [endpoint = null, epoch = null] of dirty) {
		for (const low of [false, true]) {
			if (left <= 0) break;
			const { rows } = await run(REMOVE, [endpoint, low, epoch, left]);
			const [removed = 0, bytes = 0] = (rows[0] ?? []).map(Number);
			stored.push([endpoint, bytes]);
			left -= removed;
		}
		if (left <= 0) break;
		await run(CLEANED, [endpoint, epoch]);
	}
	// Last, as in other transactions: counts are locked after jobs.
	for (const [endpoint, bytes] of stored) if (bytes > 0) await run(UNSTORED, [endpoint, bytes]);
	return left <= 0;
}

const EXPIRE_KEYS = statement(`
  WITH old AS MATERIALIZED (SELECT endpoint, operation, key FROM idempotency WHERE expires_at <= $1
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM idempotency USING old WHERE idempotency.endpoint = old.endpoint
    AND idempotency.operation = old.operation AND idempotency.key = old.key`);
const NEXT_KEY = statement("SELECT min(expires_at) FROM idempotency");

/**
 * Removes expired keys and returns when the next one expires, or `Infinity` (D14). Writes nothing if none has expired.
 */
export async function expireKeys(
	{ read, write }: Pick<Database, "read" | "write">,
	{ now, limit }: { now: number; limit: number },
): Promise<number> {
	const next = async (): Promise<number> => Number((await read.run(NEXT_KEY)).rows[0]?.[0] ?? Infinity);
	const nextAt = await next();
	if (nextAt > now) return nextAt;
	await write(({ run }) => run(EXPIRE_KEYS, [now, limit]));
	return await next();
}
