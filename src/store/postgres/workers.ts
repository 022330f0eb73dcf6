/**
 * What the pings and silences of workers mean for the jobs they hold (D16), inside a shared
 * transaction that has read those jobs.
 */
import { MISSED_PINGS } from "../../core/job-transitions.ts";
import { RUNNING } from "../states.ts";
import type { AttemptReconciliation, WorkerStore } from "../contract/workers.ts";
import type { Attempt } from "../../core/job.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import type { Row } from "./rows/row.ts";

/** Done one after the other in a transaction. */
export type WorkerSteps = Pick<WorkerStore, "ping" | "idle" | "renew">;

interface Worker {
	endpoint: string;
	worker: string;
}

export function openWorkers({ records, attempts, moves }: UnitOfWork): WorkerSteps {
	/** The jobs that the worker still runs after what has passed for them. */
	function held({ endpoint, worker, now }: Worker & { now: number }): Row[] {
		return records.of(endpoint).flatMap((row) => {
			if (row.job.state !== RUNNING || row.job.worker !== worker) return [];
			const after = moves.pass(row, now);
			return after?.job.state === RUNNING ? [after] : [];
		});
	}

	/** Old attempts that the worker may still run, with the job of each. */
	function old({ endpoint, worker }: Worker): { row: Row; attempt: Attempt }[] {
		return records
			.of(endpoint)
			.flatMap((row) => attempts.openOf(row, worker).map((attempt) => ({ row, attempt })));
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
		async ping({ endpoint, worker, named, handedBefore, now }) {
			const names = new Set(named);
			const lost: Row[] = [];
			const over: string[] = [];
			// Old attempts first: those that this very ping ends are over already or were just named.
			for (const { row, attempt } of old({ endpoint, worker })) {
				const missed = names.has(row.job.id)
					? 0
					: attempt.startedAt < handedBefore
						? attempt.missed + 1
						: attempt.missed;
				if (missed >= MISSED_PINGS) {
					attempts.close(row, attempt);
					over.push(row.job.id);
				} else if (missed !== attempt.missed) attempts.setMissed(row, attempt, missed);
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

		async idle({ endpoint, worker, before, dead = false, now }) {
			const rows = held({ endpoint, worker, now }).filter(
				({ job }) => job.startedAt !== undefined && job.startedAt < before,
			);
			const over: string[] = [];
			for (const { row, attempt } of old({ endpoint, worker })) {
				if (attempt.startedAt >= before) continue;
				attempts.close(row, attempt, dead);
				over.push(row.job.id);
			}
			return takeBack(rows, over, now);
		},

		async renew({ endpoint, worker, now }) {
			for (const row of held({ endpoint, worker, now })) moves.renew(row, now);
		},
	};
}
