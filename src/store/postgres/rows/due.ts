/**
 * Finds the jobs for which something has passed, so that counts and claims are right without the
 * sweeper (D15).
 */
import type { Transitions } from "../../apply-transition.ts";
import type { Queues } from "./queues.ts";
import { COLUMNS } from "./job-records.ts";
import type { Records } from "./job-records.ts";
import type { Queue, Row } from "./row.ts";
import { statement } from "../connection/statement.ts";
import { WAITING } from "../../states.ts";

/** Jobs of one endpoint settled in passing by one step. */
export const PASSING_LIMIT = 1000;

/** Rows that another transaction has locked it settles itself. Purged jobs are removed later. */
const LIVE = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT * FROM jobs WHERE endpoint = $1 AND ended_at IS NULL AND due_at <= $2 AND NOT (state = '${WAITING}' AND epoch < $4) ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
  ) AS jobs`);
const ENDED = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT * FROM jobs WHERE endpoint = $1 AND ended_at IS NOT NULL AND due_at <= $2 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
  ) AS jobs`);

/** `flush` writes what changed, so that statements find it. */
export function openDue({
	queues,
	records,
	transitions,
	flush,
}: {
	queues: Queues;
	records: Records;
	transitions: Transitions<Row>;
	flush: () => Promise<void>;
}) {
	async function settle(
		queue: Queue,
		q: { now: number; limit: number; ended: boolean },
	): Promise<number> {
		await queues.read([queue.endpoint], q.now);
		const asked = [queue.endpoint, q.now, q.limit];
		const rows = await (q.ended
			? records.query(ENDED, asked)
			: records.query(LIVE, [...asked, queue.epoch]));
		const current = rows.flatMap((row) => records.now(row) ?? []);
		transitions.settleAll(
			current.toSorted((a, b) => a.job.dueAt - b.job.dueAt),
			q.now,
		);
		return rows.length;
	}

	return {
		/**
		 * Settles up to `limit` jobs of a queue in due order: live ones, or those that have ended.
		 * Returns how many there were.
		 */
		settle,

		/**
		 * Settles what has passed for the live jobs of a queue when something has, up to the limit of a
		 * step.
		 */
		async freshen(queue: Queue, now: number): Promise<void> {
			if (!queue.due) return;
			queue.due =
				(await settle(queue, { now, limit: PASSING_LIMIT, ended: false })) === PASSING_LIMIT;
			if (queue.due) await flush();
		},
	};
}
