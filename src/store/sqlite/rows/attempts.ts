/** The history of attempts, and which of them may still run at their worker (D16 Fence). */
import type { Attempt, AttemptEnd } from "../../../core/job.ts";
import type { Database } from "../database.ts";

/** An attempt that its worker may still be running. */
export interface OpenAttempt {
	seq: number;
	attempt: number;
	startedAt: number;
	missed: number;
}

/** Ends after which the worker is told to stop (D18). */
const STOPPED = ["cancelled", "timed_out"] as const satisfies readonly AttemptEnd[];

/** The column `open`: over by its worker's word, open, over with its worker's process. */
const OVER = 0;
const OPEN = 1;
const KILLED = 2;

/** What belongs to a row of jobs. */
export interface Numbered {
	seq: number;
}

export type Attempts = ReturnType<typeof openAttempts>;

/** `ended` is told each worker whose old attempts came to be over. */
export function openAttempts({ db, ended }: { db: Database; ended: (worker: string) => void }) {
	const insert = db.prepare(
		"INSERT INTO attempts (seq, attempt, worker, started_at, ended_at, outcome, open, missed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	);
	const select = db.prepare(
		"SELECT attempt, worker, started_at, ended_at, outcome, open, missed FROM attempts WHERE seq = ? ORDER BY attempt",
	);
	const anyOpen = db.prepare("SELECT 1 FROM attempts WHERE worker = ? AND open = 1 LIMIT 1");
	const anyAtAll = db.prepare("SELECT 1 FROM attempts WHERE open = 1 LIMIT 1");
	const openOfJob = db.prepare(
		"SELECT 1 FROM attempts WHERE worker = ? AND seq = ? AND open = 1 LIMIT 1",
	);
	const ofWorker = db.prepare("SELECT 1 FROM attempts WHERE seq = ? AND worker = ? LIMIT 1");
	const openOfWorker = db.prepare(
		"SELECT seq, attempt, started_at, missed FROM attempts WHERE worker = ? AND open = 1 ORDER BY seq, attempt",
	);
	const openByEnd = db.prepare(
		"SELECT seq, worker FROM attempts WHERE open = 1 AND outcome IN (?, ?)",
	);
	const setMissed = db.prepare("UPDATE attempts SET missed = ? WHERE seq = ? AND attempt = ?");
	const forgetMissed = db.prepare("UPDATE attempts SET missed = 0 WHERE open = 1 AND missed > 0");
	const close = db.prepare("UPDATE attempts SET open = ? WHERE seq = ? AND attempt = ?");
	const closeOfJob = db.prepare(
		"UPDATE attempts SET open = 0 WHERE worker = ? AND seq = ? AND open = 1",
	);
	const removeAll = db.prepare("DELETE FROM attempts WHERE seq = ?");

	/** False only while no attempt at all is open (R8), which saves each claim a query. */
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
				Number(past.open),
				past.missed,
			);
		},

		/** Ended attempts of a job, oldest first. */
		list({ seq }: Numbered): Attempt[] {
			return select.all(seq).map(([attempt, worker, startedAt, endedAt, end, open, missed]) => ({
				attempt: Number(attempt),
				worker: String(worker),
				startedAt: Number(startedAt),
				endedAt: Number(endedAt),
				end: end as AttemptEnd,
				open: open === OPEN,
				missed: Number(missed),
				...(open === KILLED && { killed: true }),
			}));
		},

		/** Whether the worker may still run old attempts of anything. */
		anyOpen: (worker: string): boolean => some && anyOpen.get(worker) !== undefined,

		/** Whether the worker may still run an old attempt of this job. */
		isOpen: ({ seq }: Numbered, worker: string): boolean =>
			openOfJob.get(worker, seq) !== undefined,

		/** Whether an ended attempt of this job was the worker's. */
		includes: ({ seq }: Numbered, worker: string): boolean =>
			ofWorker.get(seq, worker) !== undefined,

		/** Old attempts that the worker may still run. */
		openOf: (worker: string): OpenAttempt[] =>
			openOfWorker.all(worker).map(([seq, attempt, startedAt, missed]) => ({
				seq: Number(seq),
				attempt: Number(attempt),
				startedAt: Number(startedAt),
				missed: Number(missed),
			})),

		/** Attempts of all workers that were to stop and may still run. */
		unstopped: (): { seq: number; worker: string }[] =>
			openByEnd
				.all(...STOPPED)
				.map(([seq, worker]) => ({ seq: Number(seq), worker: String(worker) })),

		setMissed({ seq, attempt }: OpenAttempt, missed: number): void {
			setMissed.run(missed, seq, attempt);
		},

		/** Sets the missed pings of all open attempts to none (D16 Outages). */
		forgetMissed: (): void => void forgetMissed.run(),

		/** The attempt is known to be over at its worker; `killed`: with its process. */
		close({ seq, attempt }: OpenAttempt, worker: string, killed = false): void {
			close.run(killed ? KILLED : OVER, seq, attempt);
			ended(worker);
		},

		/** Every attempt of the job at this worker is known to be over. */
		closeAt({ seq }: Numbered, worker: string): void {
			if (Number(closeOfJob.run(worker, seq).changes) > 0) ended(worker);
		},

		remove: ({ seq }: Numbered): void => void removeAll.run(seq),
	};
}
