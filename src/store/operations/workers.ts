/** Effect of pings and silence on the jobs of a worker (D16). */
import { MISSED_PINGS } from "../../core/jobs/job-transitions.ts";
import type { JobRow } from "../row.ts";
import { RUNNING } from "../states.ts";
import type { AttemptReconciliation } from "../contract/workers.ts";
import type { SharedOperation } from "./operation.ts";
import type { UnitOfWork, WorkerKey } from "./unit-of-work.ts";

const readsWorker = ({ endpoint, worker }: WorkerKey) => ({ workers: [{ endpoint, worker }] });

function held<Row extends JobRow>(unit: UnitOfWork<Row>, q: WorkerKey & { now: number }): Row[] {
	return unit.records.runningOn(q).flatMap((row) => {
		const after = unit.transitions.pass(row, q.now);
		return after?.job.state === RUNNING ? [after] : [];
	});
}

/** Jobs that fail by it join `over`. */
function takeBack<Row extends JobRow>(
	unit: UnitOfWork<Row>,
	rows: readonly Row[],
	{ over, now, workerEnd }: { over: readonly string[]; now: number; workerEnd?: string | undefined },
): AttemptReconciliation {
	const lost = unit.transitions.takeBack(rows, { now, over: true, workerEnd });
	return {
		lost,
		over: [...over, ...rows.map((row) => row.job.id).filter((id) => !lost.includes(id))],
	};
}

export const ping: SharedOperation<"workers.ping"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, { endpoint, worker, named, handedBefore, now }) {
		const names = new Set(named);
		const lost = [];
		const over: string[] = [];
		// Old attempts first: those that this ping ends have already ended or were just named.
		for (const { row, past } of unit.attempts.openOf({ endpoint, worker })) {
			const missed = names.has(row.job.id) ? 0 : past.startedAt < handedBefore ? past.missed + 1 : past.missed;
			if (missed >= MISSED_PINGS) {
				unit.attempts.close(row, past);
				over.push(row.job.id);
			} else if (missed !== past.missed) unit.attempts.setMissed(row, past, missed);
		}
		for (const row of held(unit, { endpoint, worker, now })) {
			if (names.has(row.job.id)) unit.transitions.renew(row, now, 0);
			else if (row.job.startedAt !== undefined && row.job.startedAt < handedBefore) {
				const missed = row.job.missed + 1;
				if (missed >= MISSED_PINGS) lost.push(row);
				else unit.records.update(row, { job: { ...row.job, missed } });
			}
		}
		return takeBack(unit, lost, { over, now });
	},
};

export const idle: SharedOperation<"workers.idle"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, { endpoint, worker, before, dead = false, workerEnd, now }) {
		const rows = held(unit, { endpoint, worker, now }).filter(
			({ job }) => job.startedAt !== undefined && job.startedAt < before,
		);
		const over: string[] = [];
		for (const { row, past } of unit.attempts.openOf({ endpoint, worker })) {
			if (past.startedAt >= before) continue;
			unit.attempts.close(row, past, {
				killed: dead,
				...(workerEnd !== undefined && { workerEnd }),
			});
			over.push(row.job.id);
		}
		return takeBack(unit, rows, { over, now, workerEnd });
	},
};

export const renew: SharedOperation<"workers.renew"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, q) {
		for (const row of held(unit, q)) unit.transitions.renew(row, q.now);
	},
};
