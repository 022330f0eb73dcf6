/** Attempts, and which may still run at their worker (D16 Fence). Descriptions: `operations/unit-of-work.ts`. */
import type { StoredSigns } from "../../../core/jobs/attempt-signs.ts";
import type { Attempt, AttemptEnd } from "../../../core/jobs/job.ts";
import type { WorkerKey } from "../../operations/unit-of-work.ts";
import { openColumn, openMembers, STOPPED } from "../../row.ts";
import type { Database, Value } from "../file/database.ts";
import type { Records } from "./job-records.ts";
import { isPurged, type Numbered, type Row } from "./row.ts";

export type Attempts = ReturnType<typeof openAttempts>;

const COLUMNS = "attempt, worker, started_at, ended_at, outcome, open, missed, sign_at, worker_end";

function attemptFrom(values: Value[]): Attempt {
	const [attempt, worker, startedAt, endedAt, end, open, missed, signAt, workerEnd] = values;
	return {
		attempt: Number(attempt),
		worker: String(worker),
		startedAt: Number(startedAt),
		endedAt: Number(endedAt),
		end: end as AttemptEnd,
		missed: Number(missed),
		...(signAt !== null && { signAt: Number(signAt) }),
		...openMembers(open),
		...(workerEnd !== null && { workerEnd: String(workerEnd) }),
	};
}

/** Opens the attempts. `ended` is called with each worker whose old attempts have ended. */
export function openAttempts(db: Database, records: Pick<Records, "at">, ended: (worker: string) => void) {
	const insert = db.prepare(`INSERT INTO attempts (seq, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
	const select = db.prepare(`SELECT ${COLUMNS} FROM attempts WHERE seq = ? ORDER BY attempt`);
	const anyOpen = db.prepare("SELECT 1 FROM attempts WHERE worker = ? AND open = 1 LIMIT 1");
	const anyAtAll = db.prepare("SELECT 1 FROM attempts WHERE open = 1 LIMIT 1");
	const openOfJob = db.prepare("SELECT 1 FROM attempts WHERE worker = ? AND seq = ? AND open = 1 LIMIT 1");
	const ofWorker = db.prepare("SELECT 1 FROM attempts WHERE seq = ? AND worker = ? LIMIT 1");
	const openOfWorker = db.prepare(
		`SELECT ${COLUMNS}, seq FROM attempts WHERE worker = ? AND open = 1 ORDER BY seq, attempt`,
	);
	const openByEnd = db.prepare("SELECT seq, worker FROM attempts WHERE open = 1 AND outcome IN (?, ?)");
	const setSigns = db.prepare("UPDATE attempts SET missed = ?, sign_at = ? WHERE seq = ? AND attempt = ?");
	const forgetMissed = db.prepare("UPDATE attempts SET missed = 0 WHERE open = 1 AND missed > 0");
	const close = db.prepare("UPDATE attempts SET open = ?, worker_end = ? WHERE seq = ? AND attempt = ?");
	const closeOfJob = db.prepare("UPDATE attempts SET open = 0 WHERE worker = ? AND seq = ? AND open = 1");
	const removeAll = db.prepare("DELETE FROM attempts WHERE seq = ?");

	/** Whether any attempt may be open; false saves each claim a query (R8). */
	let some = anyAtAll.get() !== undefined;

	return {
		add({ seq }: Numbered, past: Attempt): void {
			some ||= past.open;
			insert.run(
				seq,
				past.attempt,
				past.worker,
				past.startedAt,
				past.endedAt,
				past.end,
				openColumn(past),
				past.missed,
				past.signAt ?? null,
				past.workerEnd ?? null,
			);
		},

		list: ({ seq }: Numbered): Attempt[] => select.all(seq).map(attemptFrom),

		anyOpen: (worker: string): boolean => some && anyOpen.get(worker) !== undefined,

		isOpen: ({ seq }: Numbered, worker: string): boolean => openOfJob.get(worker, seq) !== undefined,

		includes: ({ seq }: Numbered, worker: string): boolean => ofWorker.get(seq, worker) !== undefined,

		openOf: ({ endpoint, worker }: WorkerKey): { row: Row; past: Attempt }[] =>
			openOfWorker.all(worker).flatMap((values) => {
				const row = records.at(Number(values.at(-1)));
				return row.job.endpoint === endpoint && !isPurged(row) ? [{ row, past: attemptFrom(values) }] : [];
			}),

		unstopped: (): { seq: number; worker: string }[] =>
			openByEnd.all(...STOPPED).map(([seq, worker]) => ({ seq: Number(seq), worker: String(worker) })),

		setSigns({ seq }: Numbered, { attempt }: Attempt, { missed, signAt }: StoredSigns): void {
			setSigns.run(missed, signAt ?? null, seq, attempt);
		},

		/** Resets missed pings (D16 Outages). */
		forgetMissed: (): void => void forgetMissed.run(),

		close(
			{ seq }: Numbered,
			{ attempt, worker }: Attempt,
			{ killed, workerEnd }: Pick<Attempt, "killed" | "workerEnd"> = {},
		): void {
			const open = openColumn({ open: false, ...(killed && { killed }) });
			close.run(open, workerEnd ?? null, seq, attempt);
			ended(worker);
		},

		closeAt({ seq }: Numbered, worker: string): void {
			if (Number(closeOfJob.run(worker, seq).changes) > 0) ended(worker);
		},

		remove: ({ seq }: Numbered): void => void removeAll.run(seq),
	};
}
