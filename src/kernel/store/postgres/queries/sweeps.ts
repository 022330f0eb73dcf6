import { cancelEach, dueTimes, extendLease } from "../../operations/steps.ts";
import { RUNNING, WAITING } from "../../row.ts";
import type { JobStore } from "../../contract/jobs.ts";
import type { Database } from "../connection/database.ts";
import { PASSING_LIMIT } from "../rows/due.ts";
import { type Notify, runUnitOfWork, type ServerMemory, type UnitOfWork } from "../rows/unit-of-work.ts";
import { expireKeys, removePurged } from "./purge.ts";
import { COLUMNS } from "../rows/job-records.ts";
import { type Runner, statement } from "../connection/statement.ts";

const LIVE = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT * FROM (
      (SELECT * FROM jobs WHERE endpoint = $1 AND state = '${RUNNING}' LIMIT $2)
      UNION ALL (SELECT * FROM jobs WHERE endpoint = $1 AND low_priority IN (false, true)
        AND state = '${WAITING}' AND epoch >= $3 LIMIT $2)
    ) AS live LIMIT $2
  ) AS chosen JOIN jobs ON jobs.endpoint = chosen.endpoint AND jobs.id = chosen.id
  ORDER BY jobs.endpoint, jobs.id FOR UPDATE OF jobs`);
/** Includes purged jobs until they are removed: skipping them would cost more the more there are. */
const DUE = statement(`
  SELECT queues.endpoint, live.due_at, ended.due_at FROM queues
  LEFT JOIN LATERAL (SELECT due_at FROM jobs WHERE jobs.endpoint = queues.endpoint AND ended_at IS NULL
    ORDER BY due_at LIMIT 1) AS live ON true
  LEFT JOIN LATERAL (SELECT due_at FROM jobs WHERE jobs.endpoint = queues.endpoint
    AND ended_at IS NOT NULL ORDER BY due_at LIMIT 1) AS ended ON true
  WHERE live.due_at IS NOT NULL OR ended.due_at IS NOT NULL`);
const AT_WORK = statement(`
  SELECT endpoint FROM queues
  WHERE EXISTS (SELECT 1 FROM jobs WHERE jobs.endpoint = queues.endpoint AND state = '${RUNNING}')
    OR EXISTS (SELECT 1 FROM attempts WHERE attempts.endpoint = queues.endpoint AND open = 1 AND missed > 0)
  ORDER BY endpoint`);
const RUNNING_ROWS = statement(
	`SELECT ${COLUMNS} FROM jobs WHERE endpoint = $1 AND state = '${RUNNING}' ORDER BY endpoint, id FOR UPDATE OF jobs`,
);
const FORGET_MISSED = statement("UPDATE attempts SET missed = 0 WHERE endpoint = $1 AND open = 1 AND missed > 0");

export type Sweeps = Pick<JobStore, "cancelAll" | "settle" | "extendAll"> & {
	freshen(q: { endpoint: string; now: number }): Promise<void>;
};

export function openSweeps(database: Database, server: ServerMemory, notify: Notify): Sweeps {
	const step = <T>(work: (parts: UnitOfWork, runner: Runner) => Promise<T>): Promise<T> =>
		runUnitOfWork({ transact: database.write, slot: () => database.slowSlot, server, notify }, work);

	return {
		cancelAll: ({ endpoint, limit, now }) =>
			step(async ({ queues, records, transitions }) => {
				await queues.read([endpoint], now);
				const queue = queues.of(endpoint);
				const rows = await records.query(LIVE, [endpoint, limit, queue.epoch]);
				const cancelled = cancelEach({ transitions }, rows, now);
				return { cancelled, left: queue.counts.inQueue + queue.counts.inProgress > 0 };
			}),

		async settle({ now, limit, expiries }) {
			const purging = await removePurged(database, limit);
			let settled = 0;
			let expired = 0;
			let left = await dueQueues();
			for (const queue of left.filter(({ dueAt }) => dueAt <= now)) {
				const { endpoint, ended } = queue;
				const most = Math.min(limit - settled, ended ? (expiries ?? limit) - expired : limit);
				if (most <= 0) continue;
				// Without rows that other transactions have locked.
				left = left.filter((each) => each !== queue);
				const count = await step(async (parts) => {
					await parts.queues.read([endpoint], now);
					return await parts.due.settle(parts.queues.of(endpoint), { now, limit: most, ended });
				});
				settled += count;
				if (ended) expired += count;
			}
			const keys = await expireKeys(database, { now, limit });
			if (settled > 0) left = await dueQueues();
			const soonest = (ofEnded: boolean): number =>
				Math.min(Infinity, ...left.flatMap((each) => (each.ended === ofEnded ? each.dueAt : [])));
			return {
				settled,
				...dueTimes({
					nextDueAt: Math.min(purging ? now : Infinity, keys, soonest(false)),
					expiryDueAt: soonest(true),
					separate: expiries !== undefined,
				}),
			};
		},

		async extendAll({ now }) {
			for (const [endpoint] of (await database.read.run(AT_WORK)).rows) {
				await step(async ({ queues, records }, { run }) => {
					await queues.read([String(endpoint)], now);
					for (const row of await records.query(RUNNING_ROWS, [String(endpoint)])) {
						if (row.job.state === RUNNING) extendLease({ records }, row, now);
					}
					await run(FORGET_MISSED, [String(endpoint)]);
				});
			}
		},

		async freshen({ endpoint, now }) {
			for (let more = true; more; ) {
				more = await step(async (parts) => {
					await parts.queues.read([endpoint], now);
					return (
						(await parts.due.settle(parts.queues.of(endpoint), {
							now,
							limit: PASSING_LIMIT,
							ended: false,
						})) === PASSING_LIMIT
					);
				});
			}
		},
	};

	async function dueQueues(): Promise<{ endpoint: string; dueAt: number; ended: boolean }[]> {
		const { rows } = await database.read.run(DUE);
		const times = [1, 2].map((column) =>
			rows
				.filter((row) => row[column] !== null)
				.map((row) => ({
					endpoint: String(row[0]),
					dueAt: Number(row[column]),
					ended: column === 2,
				}))
				.toSorted((a, b) => a.dueAt - b.dueAt),
		);
		return times.flat();
	}
}
