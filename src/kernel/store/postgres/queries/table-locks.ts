/** Which session keeps the store's transactions waiting for a whole table. */
import { StoreUnavailable } from "../../contract/store.ts";
import type { Database } from "../connection/database.ts";
import { SCHEMA } from "../connection/setup.ts";
import { statement } from "../connection/statement.ts";

/**
 * Locks that exclude writes, held or waited for: others wait behind a session that waits. The pid is null for a
 * prepared transaction.
 */
const HOLDER = statement(`
  SELECT relname, pid FROM pg_locks JOIN pg_class ON pg_class.oid = pg_locks.relation
  WHERE locktype = 'relation' AND relnamespace = ${SCHEMA}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  ORDER BY granted DESC LIMIT 1`);

export async function lockedTable({
	read,
	name,
}: Pick<Database, "read" | "name">): Promise<StoreUnavailable | undefined> {
	const [found] = (await read.run(HOLDER)).rows;
	if (!found) return undefined;
	const [table, pid] = found;
	const holder = pid === null ? "a prepared transaction" : `session ${pid}`;
	const end = pid === null ? "" : ` SELECT pg_terminate_backend(${pid}) ends it.`;
	return new StoreUnavailable("blocked", `PostgreSQL at ${name}: ${holder} locks the table ${table}.${end}`);
}
