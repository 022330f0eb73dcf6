/**
 * Drops single connections whose answers do not arrive while the database answers on another one: a network device
 * drops their packets, or their process of the database hangs.
 */
import type { Clock } from "../../../system/clock.ts";
import { numbers } from "./arrays.ts";
import { STATEMENT_MS } from "./connection.ts";
import type { Database } from "./database.ts";
import { type Runner, statement } from "./statement.ts";

/** Time without an answer after which the database is asked about the connection, ms. */
const QUIET_MS = 1000;

/** Time after which the database would have ended every statement, ms. */
const HUNG_MS = STATEMENT_MS + 2000;

const BUSY = statement("SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int8[]) AND state NOT LIKE 'idle%'");

/**
 * Drops a connection whose process waits for a statement, or has ended, when two checks find that and nothing arrived
 * in between.
 */
export function lostAnswers(clock: Clock, database: Pick<Database, "waiting">): (present: Runner) => Promise<void> {
	let idle = new Map<number, number>();
	return async (present) => {
		const quiet = database.waiting(QUIET_MS);
		if (quiet.length === 0) return idle.clear();
		const { rows } = await present.run(BUSY, [numbers(quiet.map(({ pid }) => pid))]);
		const busy = new Set(rows.map(([pid]) => Number(pid)));
		const before = idle;
		idle = new Map();
		for (const { pid, since, drop } of quiet) {
			if (clock.now() - since > HUNG_MS) drop();
			else if (busy.has(pid)) continue;
			else if (before.get(pid) === since) drop();
			else idle.set(pid, since);
		}
	};
}
