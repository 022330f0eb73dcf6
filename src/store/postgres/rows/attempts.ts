/** The attempts of jobs in one transaction, and which may still run at their worker (D16 Fence). */
import type { Attempt, AttemptEnd } from "../../../core/job.ts";
import { numbers, texts } from "../connection/arrays.ts";
import type { JobKey } from "../../operations/unit-of-work.ts";
import type { Row } from "./row.ts";
import { openColumn, openMembers } from "../../states.ts";
import { type Runner, statement } from "../connection/statement.ts";

const INSERT = statement(`
  INSERT INTO attempts (endpoint, job, attempt, worker, started_at, ended_at, outcome, open, missed,
    worker_end)
  SELECT * FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[], $5::int8[], $6::int8[],
    $7::text[], $8::int8[], $9::int8[], $10::text[])
  ON CONFLICT (endpoint, job, attempt) DO UPDATE SET open = excluded.open, missed = excluded.missed,
    worker_end = excluded.worker_end`);
const REMOVE = statement(
	`DELETE FROM attempts USING unnest($1::text[], $2::text[]) AS removed (endpoint, job)
		WHERE attempts.endpoint = removed.endpoint AND attempts.job = removed.job`,
);

/** An attempt as `json_build_array` returns it. */
type Packed = [
	attempt: number,
	worker: string,
	startedAt: number,
	endedAt: number,
	outcome: AttemptEnd,
	open: number,
	missed: number,
	workerEnd: string | null,
];

/** Parses a JSON list of attempts, oldest first. */
export function attemptsFrom(json: string | null): Attempt[] {
	if (json === null) return [];
	return (JSON.parse(json) as Packed[]).map(([attempt, worker, startedAt, endedAt, end, open, missed, workerEnd]) => ({
		attempt,
		worker,
		startedAt,
		endedAt,
		end,
		missed,
		...openMembers(open),
		...(workerEnd !== null && { workerEnd }),
	}));
}

export type Attempts = ReturnType<typeof openAttempts>;

/** Attempts of the rows of one transaction. */
export function openAttempts({ run }: { run: Runner["run"] }) {
	const byJob = new Map<string, Attempt[]>();
	const changed = new Map<string, { job: JobKey; past: Attempt }>();
	const removed = new Map<string, JobKey>();

	function listOf({ key }: Row): Attempt[] {
		return byJob.get(key) ?? [];
	}

	function put(row: Row, past: Attempt): void {
		const list = listOf(row).filter(({ attempt }) => attempt !== past.attempt);
		byJob.set(
			row.key,
			[...list, past].toSorted((a, b) => a.attempt - b.attempt),
		);
		changed.set(`${row.key}/${past.attempt}`, { job: row.job, past });
	}

	return {
		/** Adds the attempts that were read with a row. */
		take({ key }: Row, json: string | null): void {
			if (json !== null) byJob.set(key, attemptsFrom(json));
		},

		add: put,

		/** Ended attempts of a job, oldest first. */
		list: listOf,

		/** Whether the worker may still run an old attempt of this job. */
		isOpen: (row: Row, worker: string): boolean => listOf(row).some((past) => past.open && past.worker === worker),

		/** Whether an ended attempt of this job was the worker's. */
		includes: (row: Row, worker: string): boolean => listOf(row).some((past) => past.worker === worker),

		/** Old attempts that the worker may still run. */
		openOf: (row: Row, worker: string): Attempt[] => listOf(row).filter((past) => past.open && past.worker === worker),

		setMissed: (row: Row, past: Attempt, missed: number): void => put(row, { ...past, missed }),

		/** Marks the attempt as ended at its worker; `killed`: with its process. */
		close: (row: Row, past: Attempt, { killed, workerEnd }: Pick<Attempt, "killed" | "workerEnd"> = {}): void =>
			put(row, {
				...past,
				open: false,
				...(killed && { killed }),
				...(workerEnd !== undefined && { workerEnd }),
			}),

		/** Marks all attempts of the job at this worker as ended. */
		closeAt(row: Row, worker: string): void {
			for (const past of listOf(row)) if (past.open && past.worker === worker) put(row, { ...past, open: false });
		},

		remove(row: Row): void {
			const list = listOf(row);
			if (list.length === 0) return;
			removed.set(row.key, row.job);
			byJob.delete(row.key);
			for (const past of list) changed.delete(`${row.key}/${past.attempt}`);
		},

		/** Writes the changes. */
		flush(): Promise<unknown>[] {
			const writes: Promise<unknown>[] = [];
			if (removed.size > 0) {
				const keys = [...removed.values()];
				removed.clear();
				writes.push(run(REMOVE, [texts(keys.map(({ endpoint }) => endpoint)), texts(keys.map(({ id }) => id))]));
			}
			if (changed.size > 0) {
				const all = [...changed.values()];
				changed.clear();
				const number = (of: (past: Attempt) => number): Buffer => numbers(all.map(({ past }) => of(past)));
				const text = (of: (past: Attempt) => string): Buffer => texts(all.map(({ past }) => of(past)));
				writes.push(
					run(INSERT, [
						texts(all.map(({ job }) => job.endpoint)),
						texts(all.map(({ job }) => job.id)),
						number(({ attempt }) => attempt),
						text(({ worker }) => worker),
						number(({ startedAt }) => startedAt),
						number(({ endedAt }) => endedAt),
						text(({ end }) => end),
						number(openColumn),
						number(({ missed }) => missed),
						texts(all.map(({ past }) => past.workerEnd)),
					]),
				);
			}
			return writes;
		},
	};
}
