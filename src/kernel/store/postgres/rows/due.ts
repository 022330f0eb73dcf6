/** Settles passed deadlines: counts and claims do not depend on the sweeper (D15). */
import type { Transitions } from "../../apply-transition.ts";
import type { Queues } from "./queues.ts";
import { COLUMNS, type Records } from "./job-records.ts";
import type { Queue, Row } from "./row.ts";
import { statement } from "../connection/statement.ts";
import { WAITING } from "../../row.ts";

/** Maximum of jobs of an endpoint that one step of another operation settles. */
export const PASSING_LIMIT = 1000;

/** Locked rows are skipped: the transaction that holds them settles them. Purged jobs are removed later. */
const LIVE = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT * FROM jobs WHERE endpoint = $1 AND ended_at IS NULL AND due_at <= $2
      AND NOT (state = '${WAITING}' AND epoch < $4) ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
  ) AS jobs`);
const ENDED = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT * FROM jobs WHERE endpoint = $1 AND ended_at IS NOT NULL AND due_at <= $2 ORDER BY due_at
      LIMIT $3 FOR UPDATE SKIP LOCKED
  ) AS jobs`);

/** `flush` writes pending changes: statements see them only then. */
export function openDue(queues: Queues, records: Records, transitions: Transitions<Row>, flush: () => Promise<void>) {
	async function settle(queue: Queue, q: { now: number; limit: number; ended: boolean }): Promise<number> {
		await queues.read([queue.endpoint], q.now);
		const asked = [queue.endpoint, q.now, q.limit];
		const rows = await (q.ended ? records.query(ENDED, asked) : records.query(LIVE, [...asked, queue.epoch]));
		const current = rows.flatMap((row) => records.now(row) ?? []);
		transitions.settleAll(
			current.toSorted((a, b) => a.job.dueAt - b.job.dueAt),
			q.now,
		);
		return rows.length;
	}

	return {
		settle,

		async freshen(queue: Queue, now: number): Promise<void> {
			if (!queue.due) return;
			queue.due = (await settle(queue, { now, limit: PASSING_LIMIT, ended: false })) === PASSING_LIMIT;
			if (queue.due) await flush();
		},
	};
}
