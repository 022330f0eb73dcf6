/** Attempts in one transaction, and which may still run at their worker (D16 Fence). */
import type { StoredSigns } from "../../../core/jobs/attempt-signs.ts";
import type { Attempt, AttemptEnd } from "../../../core/jobs/job.ts";
import { rowsOf } from "../connection/arrays.ts";
import type { JobKey } from "../../operations/unit-of-work.ts";
import { keyOf, KEYS, type Row } from "./row.ts";
import { openColumn, openMembers } from "../../row.ts";
import { type Runner, statement } from "../connection/statement.ts";

const ROWS = rowsOf<{ job: JobKey; past: Attempt }>({
	endpoint: ["text", ({ job }) => job.endpoint],
	job: ["text", ({ job }) => job.id],
	attempt: ["int8", ({ past }) => past.attempt],
	worker: ["text", ({ past }) => past.worker],
	started_at: ["int8", ({ past }) => past.startedAt],
	ended_at: ["int8", ({ past }) => past.endedAt],
	outcome: ["text", ({ past }) => past.end],
	open: ["int8", ({ past }) => openColumn(past)],
	missed: ["int8", ({ past }) => past.missed],
	sign_at: ["int8", ({ past }) => past.signAt],
	worker_end: ["text", ({ past }) => past.workerEnd],
});
const INSERT = statement(`
  INSERT INTO attempts (${ROWS.names}) ${ROWS.select}
  ON CONFLICT (endpoint, job, attempt) DO UPDATE SET open = excluded.open, missed = excluded.missed,
    sign_at = excluded.sign_at, worker_end = excluded.worker_end`);
/** The attempts of a job as JSON text, where the statement names its table `jobs`. */
export const ATTEMPTS_OF_JOB = `(
  SELECT json_agg(json_build_array(attempt, worker, started_at, ended_at, outcome, open, missed,
    sign_at, worker_end) ORDER BY attempt)::text
  FROM attempts WHERE attempts.endpoint = jobs.endpoint AND attempts.job = jobs.id)`;
const LOAD = statement(`SELECT endpoint, id, ${ATTEMPTS_OF_JOB} FROM (${KEYS.select}) AS jobs`);
const REMOVE = statement(
	`DELETE FROM attempts USING (${KEYS.select}) AS removed
		WHERE attempts.endpoint = removed.endpoint AND attempts.job = removed.id`,
);

type Packed = [
	attempt: number,
	worker: string,
	startedAt: number,
	endedAt: number,
	outcome: AttemptEnd,
	open: number,
	missed: number,
	signAt: number | null,
	workerEnd: string | null,
];

export function attemptsFrom(json: string | null): Attempt[] {
	if (json === null) return [];
	return (JSON.parse(json) as Packed[]).map(
		([attempt, worker, startedAt, endedAt, end, open, missed, signAt, workerEnd]) => ({
			attempt,
			worker,
			startedAt,
			endedAt,
			end,
			missed,
			...(signAt !== null && { signAt }),
			...openMembers(open),
			...(workerEnd !== null && { workerEnd }),
		}),
	);
}

export type Attempts = ReturnType<typeof openAttempts>;

export function openAttempts(run: Runner["run"]) {
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
		async load(jobs: readonly JobKey[]): Promise<void> {
			if (jobs.length === 0) return;
			for (const [endpoint, id, json] of (await run(LOAD, KEYS.values(jobs))).rows)
				byJob.set(keyOf({ endpoint: String(endpoint), id: String(id) }), attemptsFrom(json as string | null));
		},

		add: put,

		list: listOf,

		isOpen: (row: Row, worker: string): boolean => listOf(row).some((past) => past.open && past.worker === worker),

		includes: (row: Row, worker: string): boolean => listOf(row).some((past) => past.worker === worker),

		openOf: (row: Row, worker: string): Attempt[] => listOf(row).filter((past) => past.open && past.worker === worker),

		setSigns: (row: Row, past: Attempt, { missed, signAt }: StoredSigns): void => put(row, { ...past, missed, signAt }),

		close: (row: Row, past: Attempt, { killed, workerEnd }: Pick<Attempt, "killed" | "workerEnd"> = {}): void =>
			put(row, {
				...past,
				open: false,
				...(killed && { killed }),
				...(workerEnd !== undefined && { workerEnd }),
			}),

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

		flush(): Promise<unknown>[] {
			const [keys, rows] = [[...removed.values()], [...changed.values()]];
			removed.clear();
			changed.clear();
			return [
				...(keys.length > 0 ? [run(REMOVE, KEYS.values(keys))] : []),
				...(rows.length > 0 ? [run(INSERT, ROWS.values(rows))] : []),
			];
		},
	};
}
