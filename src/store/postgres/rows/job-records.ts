/**
 * Job rows in one transaction: locked and read once, changed in memory, written at its end by one
 * INSERT, one UPDATE and one DELETE.
 */
import type { Job } from "../../../core/job.ts";
import { CHANGING as CHANGING_OF_JOB, FIXED as FIXED_OF_JOB, type JobColumn, jobReader } from "../../job-columns.ts";
import { compile } from "../../positional.ts";
import { flags, numbers, texts as textArray } from "../connection/arrays.ts";
import type { Attempts } from "./attempts.ts";
import type { Queues } from "./queues.ts";
import { RUNNING, WAITING } from "../../states.ts";
import { storedBytes } from "../../row.ts";
import { isPurged, keyOf, type Queue, type Row } from "./row.ts";
import type { JobKey, WorkerKey } from "../../operations/unit-of-work.ts";
import { type Runner, statement, type Statement, type Value } from "../connection/statement.ts";
import type { Payloads } from "./payloads.ts";

type RowChange = Partial<Pick<Row, "job" | "rank" | "epoch" | "nextChunk" | "cursor" | "outputBytes" | "reader">>;

type Column = Pick<JobColumn, "name" | "type"> & {
	value: (row: Row) => string | number | boolean | undefined;
};

const ofJob = ({ name, type, member }: JobColumn): Column => ({
	name,
	type,
	value: compile("row", `row.job.${member}`),
});

/** Columns that never change after the insert. */
const FIXED: readonly Column[] = [
	{ name: "number", type: "int8", value: (row) => row.number },
	{ name: "input_bytes", type: "int8", value: (row) => row.inputBytes },
	...FIXED_OF_JOB.map(ofJob),
];

const CHANGING: readonly Column[] = [
	...CHANGING_OF_JOB.map(ofJob),
	{ name: "rank", type: "int8", value: (row) => row.rank },
	{ name: "epoch", type: "int8", value: (row) => row.epoch },
	{ name: "next_chunk", type: "int8", value: (row) => row.nextChunk },
	{ name: "cursor", type: "int8", value: (row) => row.cursor },
	{ name: "output_bytes", type: "int8", value: (row) => row.outputBytes },
	{ name: "reader", type: "text", value: ({ reader }) => reader?.reader },
	{ name: "reader_end", type: "int8", value: ({ reader }) => reader?.end },
	{ name: "reader_session", type: "int8", value: ({ reader }) => reader?.session },
];

const ALL = [...FIXED, ...CHANGING];
const names = (columns: readonly Column[]): string[] => columns.map(({ name }) => name);
const arrays = (columns: readonly Column[], first: number): string =>
	columns.map(({ type }, index) => `$${first + index}::${type}[]`).join(", ");

/** Columns in the order of {@link rowOf}. */
const NAMES = ["endpoint", "id", ...names(ALL)];
const jobOf = jobReader(NAMES, ({ nullable }, value) => (nullable ? `${value} ?? undefined` : value));
const AT = Object.fromEntries(NAMES.map((name, index) => [name, index]));

/** Columns of table `jobs` as {@link rowOf} reads them, with ended attempts as JSON text. */
export const COLUMNS = `${NAMES.map((name) => `jobs.${name}`).join(", ")},
  CASE WHEN jobs.past THEN (
    SELECT json_agg(json_build_array(attempt, worker, started_at, ended_at, outcome, open, missed,
      worker_end) ORDER BY attempt)::text
    FROM attempts WHERE attempts.endpoint = jobs.endpoint AND attempts.job = jobs.id
  ) END`;

/**
 * Looks up each given job by its key. A plain join would be turned round into a scan of all jobs and
 * dead rows where the statistics say that there are none, as VACUUM leaves them after a lull.
 */
const lookUp = (given: string, select: string): string => `
  CROSS JOIN LATERAL (
    SELECT ${select} FROM jobs WHERE jobs.endpoint = ${given}.endpoint AND jobs.id = ${given}.id LIMIT 1`;

/** Fixed lock order: prevents deadlocks. */
export const LOAD_JOBS = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT * FROM unnest($1::text[], $2::text[]) AS given (endpoint, id)
    ORDER BY endpoint COLLATE "C", id COLLATE "C"
  ) AS given ${lookUp("given", "*")} FOR UPDATE) AS jobs`);

const INSERT = statement(`
  INSERT INTO jobs (endpoint, id, ${names(ALL).join(", ")}, past, input, output, error)
  SELECT * FROM unnest($1::text[], $2::text[], ${arrays(ALL, 3)}, $${ALL.length + 3}::bool[],
    $${ALL.length + 4}::text[], $${ALL.length + 5}::text[], $${ALL.length + 6}::text[])`);

const changed = ["endpoint", "id", ...names(CHANGING), "past", "result", "erase", "output", "error"];
const after = CHANGING.length + 3;

/**
 * Rows are locked, so their places hold. Setting an unchanged payload to its own column does not read a
 * large value.
 */
export const UPDATE_JOBS = statement(`
  UPDATE jobs SET ${names(CHANGING)
		.map((name) => `${name} = changed.${name}`)
		.join(", ")}, past = changed.past,
    input = CASE WHEN changed.erase THEN NULL ELSE jobs.input END,
    output = CASE WHEN changed.result OR changed.erase THEN changed.output ELSE jobs.output END,
    error = CASE WHEN changed.result OR changed.erase THEN changed.error ELSE jobs.error END
  FROM (
    SELECT given.*, place FROM unnest($1::text[], $2::text[], ${arrays(CHANGING, 3)},
      $${after}::bool[], $${after + 1}::bool[], $${after + 2}::bool[], $${after + 3}::text[],
      $${after + 4}::text[]) AS given (${changed.join(", ")})
    ${lookUp("given", "ctid AS place")}) AS found
  ) AS changed
  WHERE jobs.ctid = changed.place`);

const REMOVE = statement(
	`DELETE FROM jobs USING unnest($1::text[], $2::text[]) AS removed (endpoint, id)
		WHERE jobs.endpoint = removed.endpoint AND jobs.id = removed.id`,
);

function packed(rows: readonly Row[], columns: readonly Column[]): Buffer[] {
	return columns.map(({ type, value }) => {
		const values = rows.map(value);
		if (type === "int8") return numbers(values as (number | undefined)[]);
		return type === "bool" ? flags(values as boolean[]) : textArray(values as (string | undefined)[]);
	});
}

/** `row`: undefined if missing or removed; `stored`: existed before this transaction. */
interface Tracked {
	row: Row | undefined;
	stored: boolean;
	changed: boolean;
}

export type Records = ReturnType<typeof openRecords>;

/** Rows of one transaction. */
export function openRecords({
	run,
	queues,
	attempts,
	payloads,
}: {
	run: Runner["run"];
	queues: Queues;
	attempts: Attempts;
	payloads: Payloads;
}) {
	const tracked = new Map<string, Tracked>();

	function take(values: Value[]): Row {
		const row = rowOf(values, (endpoint) => queues.of(endpoint));
		const known = tracked.get(row.key);
		if (known?.row) return known.row;
		if (known?.stored) return row;
		tracked.set(row.key, { row, stored: true, changed: false });
		attempts.take(row, values[values.length - 1] as string | null);
		return row;
	}

	/**
	 * Marks keys as read and returns those that the caller must read now; a job not found then does
	 * not exist.
	 */
	function expect(keys: Iterable<JobKey>): JobKey[] {
		const fresh = [...keys].filter((key) => !tracked.has(keyOf(key)));
		for (const key of fresh) tracked.set(keyOf(key), { row: undefined, stored: false, changed: false });
		return fresh;
	}

	/** Rows of an endpoint that were read or added so far. */
	function of(endpoint: string): Row[] {
		const rows: Row[] = [];
		for (const { row } of tracked.values()) if (row && row.job.endpoint === endpoint && !isPurged(row)) rows.push(row);
		return rows;
	}

	return {
		expect,

		/** Locks and reads rows not read yet. Their queues must have been read. */
		async load(keys: Iterable<JobKey>): Promise<void> {
			const fresh = expect(keys);
			if (fresh.length === 0) return;
			const { rows } = await run(LOAD_JOBS, [
				textArray(fresh.map(({ endpoint }) => endpoint)),
				textArray(fresh.map(({ id }) => id)),
			]);
			for (const values of rows) take(values);
		},

		/**
		 * Locks and reads the rows of a statement that returns {@link COLUMNS}. Their queues must have
		 * been read. Returns rows with this transaction's changes.
		 */
		async query(asked: Statement, values: Parameters<Runner["run"]>[1]): Promise<Row[]> {
			const { rows } = await run(asked, values);
			return rows.map(take);
		},

		/** The row of a job that was read, erased or not; undefined if purged. */
		find(key: JobKey): Row | undefined {
			const known = tracked.get(keyOf(key));
			if (!known) throw new Error(`The row of job ${keyOf(key)} was not read.`);
			return known.row && !isPurged(known.row) ? known.row : undefined;
		},

		/** The row with this transaction's changes; undefined if removed. */
		now: ({ key }: Row): Row | undefined => tracked.get(key)?.row,

		/** Adds a waiting job at the back of its queue and counts it. */
		insert(job: Job, inputBytes: number): Row {
			const queue = queues.of(job.endpoint);
			const rank = queues.nextBack(queue, job.queuedAt);
			queues.added(queue, job.lowPriority);
			queues.stored(queue, inputBytes);
			const row: Row = {
				key: keyOf(job),
				job,
				queue,
				number: rank,
				rank,
				epoch: queue.epoch,
				nextChunk: 0,
				cursor: 0,
				inputBytes,
				outputBytes: 0,
			};
			tracked.set(row.key, { row, stored: false, changed: true });
			return row;
		},

		/** Changes a row and returns the new one. */
		update(row: Row, change: RowChange): Row {
			const next: Row = { ...row, ...change };
			queues.stored(row.queue, storedBytes(next) - storedBytes(row));
			const known = tracked.get(row.key);
			tracked.set(row.key, { row: next, stored: known?.stored ?? true, changed: true });
			return next;
		},

		remove(row: Row): void {
			queues.stored(row.queue, -storedBytes(row));
			const known = tracked.get(row.key);
			tracked.set(row.key, { row: undefined, stored: known?.stored ?? true, changed: true });
		},

		/** Reads a row from the values of {@link COLUMNS}; the statement must have locked it. */
		take,

		/** Waiting jobs that this transaction changed: statements do not see them yet. */
		waiting(queue: Queue): Row[] {
			const rows: Row[] = [];
			for (const { row, changed: by } of tracked.values())
				if (row && by && row.queue === queue && row.job.state === WAITING) rows.push(row);
			return rows;
		},

		/** Whether the job waits at the end of this transaction. */
		waits: (key: JobKey): boolean => tracked.get(keyOf(key))?.row?.job.state === WAITING,

		of,

		/** Read jobs that are stored as running on a worker; a deadline may have passed. */
		runningOn: ({ endpoint, worker }: WorkerKey): Row[] =>
			of(endpoint).filter(({ job }) => job.state === RUNNING && job.worker === worker),

		/** Writes the changes. */
		flush(): Promise<unknown>[] {
			const inserted: Row[] = [];
			const updated: Row[] = [];
			const removed: string[] = [];
			for (const [key, each] of tracked) {
				if (!each.changed) continue;
				if (each.row) (each.stored ? updated : inserted).push(each.row);
				else if (each.stored) removed.push(key);
				each.changed = false;
				each.stored = each.row !== undefined;
			}
			const keys = (rows: readonly Row[]): Buffer[] => [
				textArray(rows.map(({ job }) => job.endpoint)),
				textArray(rows.map(({ job }) => job.id)),
			];
			const past = (rows: readonly Row[]): Buffer => flags(rows.map((row) => attempts.list(row).length > 0));
			const writes: Promise<unknown>[] = [];
			if (inserted.length > 0)
				writes.push(
					run(INSERT, [...keys(inserted), ...packed(inserted, ALL), past(inserted), ...payloads.ofNew(inserted)]),
				);
			if (updated.length > 0)
				writes.push(
					run(UPDATE_JOBS, [
						...keys(updated),
						...packed(updated, CHANGING),
						past(updated),
						...payloads.ofChanged(updated),
					]),
				);
			if (removed.length > 0) {
				const parts = removed.map((key) => key.split("/"));
				writes.push(
					run(REMOVE, [
						textArray(parts.map(([endpoint]) => endpoint)),
						textArray(parts.map(([, ...id]) => id.join("/"))),
					]),
				);
			}
			return writes;
		},
	};
}

export function rowOf(values: Value[], queueOf: (endpoint: string) => Queue): Row {
	const endpoint = String(values[0]);
	const job = jobOf(values, endpoint);
	const number = (name: string): number => Number(values[AT[name]!]);
	const reader = values[AT["reader"]!];
	return {
		key: keyOf(job),
		job,
		queue: queueOf(endpoint),
		number: number("number"),
		rank: number("rank"),
		epoch: number("epoch"),
		nextChunk: number("next_chunk"),
		cursor: number("cursor"),
		inputBytes: number("input_bytes"),
		outputBytes: number("output_bytes"),
		reader:
			typeof reader === "string" ? { reader, end: number("reader_end"), session: number("reader_session") } : undefined,
	};
}
