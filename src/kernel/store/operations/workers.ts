/** Effect of pings and silence on the jobs of a worker (D16). */
import {
	afterOmission,
	isShared,
	isSilent,
	isUndisputed,
	NAMED,
	signed,
	signsOfPast,
	signsOfRun,
} from "../../core/jobs/attempt-signs.ts";
import { type JobRow, RUNNING } from "../row.ts";
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

/** Takes jobs back from a worker. Those that fail by this loss join `over`. */
function takeBack<Row extends JobRow>(
	unit: UnitOfWork<Row>,
	rows: readonly Row[],
	{ over, now, workerEnd }: { over: readonly string[]; now: number; workerEnd?: string | undefined },
): Pick<AttemptReconciliation, "lost" | "over"> {
	const lost = unit.transitions.takeBack(rows, { now, over: true, workerEnd });
	return {
		lost,
		over: [...over, ...rows.map((row) => row.job.id).filter((id) => !lost.includes(id))],
	};
}

export const ping: SharedOperation<"workers.ping"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, { endpoint, worker, named, now, ...q }) {
		const names = new Set(named);
		const lost = [];
		const over: string[] = [];
		const pinged = { ...q, now };
		// Old attempts first: those that this ping ends have already ended or were just named.
		for (const { row, past } of unit.attempts.openOf({ endpoint, worker })) {
			if (names.has(row.job.id)) {
				unit.attempts.setSigns(row, past, signed(past, now));
				continue;
			}
			const missed = afterOmission(signsOfPast(past, row.job), pinged);
			if (missed === "over") {
				unit.attempts.close(row, past);
				over.push(row.job.id);
			} else if (missed !== past.missed) unit.attempts.setSigns(row, past, { missed });
		}
		let shared = false;
		for (const row of held(unit, { endpoint, worker, now })) {
			if (names.has(row.job.id)) {
				shared ||= isShared(row.job, pinged);
				unit.transitions.renew(row, now, NAMED);
				continue;
			}
			const missed = afterOmission(signsOfRun(row.job), pinged);
			if (missed === "over") lost.push(row);
			else if (missed !== row.job.missed)
				unit.records.update(row, { job: { ...row.job, missed, deniedAt: undefined } });
		}
		return { ...takeBack(unit, lost, { over, now }), ...(shared && { shared }) };
	},
};

export const idle: SharedOperation<"workers.idle"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, { endpoint, worker, before, dead = false, pings = false, workerEnd, now }) {
		const rows = held(unit, { endpoint, worker, now }).filter(
			({ job }) => job.startedAt !== undefined && job.startedAt < before,
		);
		// A take that reports no job ends no run; open polls only stop renewing its lease.
		for (const row of dead ? [] : rows)
			if (isUndisputed(row.job)) unit.records.update(row, { job: { ...row.job, deniedAt: before } });
		const over: string[] = [];
		const keptOpen: string[] = [];
		for (const { row, past } of unit.attempts.openOf({ endpoint, worker })) {
			if (past.startedAt >= before) continue;
			if (!dead && pings && !isSilent(signsOfPast(past, row.job), now)) {
				keptOpen.push(row.job.id);
				continue;
			}
			unit.attempts.close(row, past, {
				killed: dead,
				...(workerEnd !== undefined && { workerEnd }),
			});
			over.push(row.job.id);
		}
		return {
			...takeBack(unit, dead ? rows : [], { over, now, workerEnd }),
			kept: dead ? [] : rows.map(({ job }) => job.id),
			keptOpen,
		};
	},
};

export const renew: SharedOperation<"workers.renew"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, q) {
		for (const row of held(unit, q)) if (isUndisputed(row.job)) unit.transitions.renew(row, q.now);
	},
};
