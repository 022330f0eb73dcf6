/**
 * Workers, and what their pings and silences mean for the jobs they hold (D16). Each runs inside a
 * batch of the database thread.
 */
import { MISSED_PINGS } from "../../core/job-transitions.ts";
import type { AttemptReconciliation, WorkerRow } from "../contract/workers.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { isPurged } from "./rows/row.ts";
import type { Row } from "./rows/row.ts";
import { RUNNING } from "../states.ts";
import type { GroupHandlers } from "../operations.ts";

export function openWorkers({
	db,
	records,
	attempts,
	moves,
}: UnitOfWork): GroupHandlers<"workers"> {
	const replace = db.prepare(
		"INSERT OR REPLACE INTO workers (id, endpoint, launcher, handle, url, created_at) VALUES (?, ?, ?, ?, ?, ?)",
	);
	const select = db.prepare(
		"SELECT id, endpoint, launcher, handle, url, created_at FROM workers ORDER BY created_at, id",
	);
	const remove = db.prepare("DELETE FROM workers WHERE id = ?");
	const runningAt = records.prepare(
		`SELECT seq FROM jobs WHERE worker = ? AND state = '${RUNNING}'`,
	);

	interface Worker {
		endpoint: string;
		worker: string;
	}

	/** The jobs that the worker still runs after what has passed for them. */
	function held({ endpoint, worker, now }: Worker & { now: number }): Row[] {
		return runningAt.all(worker).flatMap(([seq]) => {
			const row = records.at(Number(seq));
			if (row.job.endpoint !== endpoint) return [];
			const after = moves.pass(row, now);
			return after?.job.state === RUNNING ? [after] : [];
		});
	}

	/** Old attempts that the worker may still run, with the job of each. */
	function old({ endpoint, worker }: Worker) {
		return attempts.openOf(worker).flatMap((attempt) => {
			const row = records.at(attempt.seq);
			return row.job.endpoint === endpoint && !isPurged(row) ? [{ attempt, id: row.job.id }] : [];
		});
	}

	/**
	 * Takes jobs back from a worker that is known not to run them; those failed by it join `over`.
	 */
	function takeBack(
		rows: readonly Row[],
		over: readonly string[],
		now: number,
	): AttemptReconciliation {
		const lost = moves.takeBack(rows, { now, over: true });
		return {
			lost,
			over: [...over, ...rows.map((row) => row.job.id).filter((id) => !lost.includes(id))],
		};
	}

	return {
		put(row) {
			replace.run(
				row.id,
				row.endpoint,
				row.launcher,
				row.handle ?? null,
				row.url ?? null,
				row.createdAt,
			);
		},

		list() {
			return select.all().map(
				([id, endpoint, launcher, handle, url, createdAt]): WorkerRow => ({
					id: String(id),
					endpoint: String(endpoint),
					launcher: String(launcher),
					handle: (handle as string | null) ?? undefined,
					url: (url as string | null) ?? undefined,
					createdAt: Number(createdAt),
				}),
			);
		},

		remove({ id }) {
			remove.run(id);
		},

		ping({ endpoint, worker, named, handedBefore, now }): AttemptReconciliation {
			const names = new Set(named);
			const lost: Row[] = [];
			const over: string[] = [];
			// Old attempts first: those that this very ping ends are over already or were just named.
			for (const { attempt, id } of old({ endpoint, worker })) {
				const missed = names.has(id)
					? 0
					: attempt.startedAt < handedBefore
						? attempt.missed + 1
						: attempt.missed;
				if (missed >= MISSED_PINGS) {
					attempts.close(attempt, worker);
					over.push(id);
				} else if (missed !== attempt.missed) attempts.setMissed(attempt, missed);
			}
			for (const row of held({ endpoint, worker, now })) {
				if (names.has(row.job.id)) moves.renew(row, now, 0);
				else if (row.job.startedAt !== undefined && row.job.startedAt < handedBefore) {
					const missed = row.job.missed + 1;
					if (missed >= MISSED_PINGS) lost.push(row);
					else records.update(row, { job: { ...row.job, missed } });
				}
			}
			return takeBack(lost, over, now);
		},

		idle({ endpoint, worker, before, dead = false, now }): AttemptReconciliation {
			const rows = held({ endpoint, worker, now }).filter(
				({ job }) => job.startedAt !== undefined && job.startedAt < before,
			);
			const over: string[] = [];
			for (const { attempt, id } of old({ endpoint, worker })) {
				if (attempt.startedAt >= before) continue;
				attempts.close(attempt, worker, dead);
				over.push(id);
			}
			return takeBack(rows, over, now);
		},

		renew({ endpoint, worker, now }) {
			for (const row of held({ endpoint, worker, now })) moves.renew(row, now);
		},
	};
}
