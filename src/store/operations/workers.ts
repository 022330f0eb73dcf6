/** Effect of pings and silence on the jobs of a worker (D16). */
import {
	afterOmission,
	type AttemptSigns,
	isSilent,
	missedAfterSign,
	signsOfPast,
	signsOfRun,
} from "../../core/jobs/attempt-signs.ts";
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
			const missed = names.has(row.job.id)
				? missedAfterSign(past, now)
				: afterOmission(signsOfPast(past, row.job), pinged);
			if (missed === "over") {
				unit.attempts.close(row, past);
				over.push(row.job.id);
			} else if (missed !== past.missed) unit.attempts.setMissed(row, past, missed);
		}
		for (const row of held(unit, { endpoint, worker, now })) {
			const missed = names.has(row.job.id) ? 0 : afterOmission(signsOfRun(row.job), pinged);
			if (missed === "over") lost.push(row);
			else if (names.has(row.job.id)) unit.transitions.renew(row, now, missed);
			else if (missed !== row.job.missed) unit.records.update(row, { job: { ...row.job, missed } });
		}
		return takeBack(unit, lost, { over, now });
	},
};

export const idle: SharedOperation<"workers.idle"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, { endpoint, worker, before, dead = false, silenceMs, workerEnd, now }) {
		const isBelieved = (signs: AttemptSigns): boolean => dead || isSilent(signs, { now, silenceMs });
		const earlier = held(unit, { endpoint, worker, now }).filter(
			({ job }) => job.startedAt !== undefined && job.startedAt < before,
		);
		const rows = earlier.filter(({ job }) => isBelieved(signsOfRun(job)));
		const kept = earlier.filter((row) => !rows.includes(row)).map(({ job }) => job.id);
		const over: string[] = [];
		const keptOpen: string[] = [];
		for (const { row, past } of unit.attempts.openOf({ endpoint, worker })) {
			if (past.startedAt >= before) continue;
			if (!isBelieved(signsOfPast(past, row.job))) {
				keptOpen.push(row.job.id);
				continue;
			}
			unit.attempts.close(row, past, {
				killed: dead,
				...(workerEnd !== undefined && { workerEnd }),
			});
			over.push(row.job.id);
		}
		return { ...takeBack(unit, rows, { over, now, workerEnd }), kept, keptOpen };
	},
};

export const renew: SharedOperation<"workers.renew"> = {
	kind: "write",
	reads: readsWorker,
	apply(unit, { since = -Infinity, ...q }) {
		for (const row of held(unit, q)) if ((row.job.startedAt ?? 0) >= since) unit.transitions.renew(row, q.now);
	},
};
