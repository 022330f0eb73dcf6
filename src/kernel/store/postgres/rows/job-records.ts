/** Job rows in one transaction: locked and read once, changed in memory, written at its end. */
import type { Job } from "../../../core/jobs/job.ts";
import {
	CHANGING as CHANGING_OF_JOB,
	FIXED as FIXED_OF_JOB,
	type JobColumn,
	jobReader,
	compile,
} from "../../job-columns.ts";
import { rowsOf } from "../connection/arrays.ts";
import type { Attempts } from "./attempts.ts";
import type { Queues } from "./queues.ts";
import { RUNNING, WAITING, storedBytes } from "../../row.ts";
import { isPurged, keyOf, KEYS, type Queue, type Row } from "./row.ts";
import type { JobKey, WorkerKey } from "../../operations/unit-of-work.ts";
import { type Runner, statement, type Statement, type Value } from "../connection/statement.ts";
import type { PayloadColumns, Payloads } from "./payloads.ts";

type RowChange = Partial<Pick<Row, "job" | "rank" | "epoch" | "nextChunk" | "cursor" | "outputBytes" | "reader">>;

interface Written extends PayloadColumns {
	row: Row;
	past: boolean;
}

type Columns = Parameters<typeof rowsOf<Written>>[0];

const ofJob = (columns: readonly JobColumn[]): Columns =>
	Object.fromEntries(
		columns.map(({ name, type, member }) => [
			name,
			[
				type,
				compile<(written: Written) => string | number | boolean | undefined>("written", `written.row.job.${member}`),
			] as const,
		]),
	);

const KEY: Columns = { endpoint: ["text", ({ row }) => row.job.endpoint], id: ["text", ({ row }) => row.job.id] };

const FIXED: Columns = {
	number: ["int8", ({ row }) => row.number],
	input_bytes: ["int8", ({ row }) => row.inputBytes],
	...ofJob(FIXED_OF_JOB),
};

const CHANGING: Columns = {
	...ofJob(CHANGING_OF_JOB),
	rank: ["int8", ({ row }) => row.rank],
	epoch: ["int8", ({ row }) => row.epoch],
	next_chunk: ["int8", ({ row }) => row.nextChunk],
	cursor: ["int8", ({ row }) => row.cursor],
	output_bytes: ["int8", ({ row }) => row.outputBytes],
	reader: ["text", ({ row }) => row.reader?.reader],
	reader_end: ["int8", ({ row }) => row.reader?.end],
	reader_session: ["int8", ({ row }) => row.reader?.session],
};

const NAMES = Object.keys({ ...KEY, ...FIXED, ...CHANGING });
const jobOf = jobReader(NAMES, ({ nullable }, value) => (nullable ? `${value} ?? undefined` : value));
const AT = Object.fromEntries(NAMES.map((name, index) => [name, index]));

/** The columns that {@link rowOf} reads, then whether the job has rows in `attempts`. */
export const COLUMNS = `${NAMES.map((name) => `jobs.${name}`).join(", ")}, jobs.past`;

/**
 * Looks up each given job by its key. A plain join becomes a scan of all jobs and dead rows where the statistics say
 * that there are none, as VACUUM leaves them after a lull.
 */
const lookUp = (given: string, select: string): string => `
  CROSS JOIN LATERAL (
    SELECT ${select} FROM jobs WHERE jobs.endpoint = ${given}.endpoint AND jobs.id = ${given}.id LIMIT 1`;

/** Fixed lock order: prevents deadlocks. */
export const LOAD_JOBS = statement(`
  SELECT ${COLUMNS} FROM (
    SELECT * FROM (${KEYS.select}) AS given ORDER BY endpoint COLLATE "C", id COLLATE "C"
  ) AS given ${lookUp("given", "*")} FOR UPDATE) AS jobs`);

const INSERTED = rowsOf<Written>({
	...KEY,
	...FIXED,
	...CHANGING,
	past: "bool",
	input: "text",
	output: "text",
	error: "text",
});
const INSERT = statement(`INSERT INTO jobs (${INSERTED.names}) ${INSERTED.select}`);

const UPDATED = rowsOf<Written>({
	...KEY,
	...CHANGING,
	past: "bool",
	result: "bool",
	erase: "bool",
	output: "text",
	error: "text",
});

/** Rows are locked: their places hold. Setting an unchanged payload to its own column does not read a large value. */
export const UPDATE_JOBS = statement(`
  UPDATE jobs SET ${[...Object.keys(CHANGING), "past"].map((name) => `${name} = changed.${name}`).join(", ")},
    input = CASE WHEN changed.erase THEN NULL ELSE jobs.input END,
    output = CASE WHEN changed.result OR changed.erase THEN changed.output ELSE jobs.output END,
    error = CASE WHEN changed.result OR changed.erase THEN changed.error ELSE jobs.error END
  FROM (
    SELECT given.*, place FROM (${UPDATED.select}) AS given ${lookUp("given", "ctid AS place")}) AS found
  ) AS changed
  WHERE jobs.ctid = changed.place`);

const REMOVE = statement(
	`DELETE FROM jobs USING (${KEYS.select}) AS removed
		WHERE jobs.endpoint = removed.endpoint AND jobs.id = removed.id`,
);

/** `row`: undefined if missing or removed; `stored`: existed before this transaction. */
interface Tracked {
	row: Row | undefined;
	stored: boolean;
	changed: boolean;
}

export class Records {
	readonly #tracked = new Map<string, Tracked>();
	readonly #run;
	readonly #queues;
	readonly #attempts;
	readonly #payloads;

	constructor(q: { run: Runner["run"]; queues: Queues; attempts: Attempts; payloads: Payloads }) {
		this.#run = q.run;
		this.#queues = q.queues;
		this.#attempts = q.attempts;
		this.#payloads = q.payloads;
	}

	/** Marks keys as read and returns those that the caller must read now; a job not found then does not exist. */
	expect(keys: readonly JobKey[]): JobKey[] {
		const fresh = keys.filter((key) => !this.#tracked.has(keyOf(key)));
		for (const key of fresh) this.#tracked.set(keyOf(key), { row: undefined, stored: false, changed: false });
		return fresh;
	}

	/** Locks the rows. Their queues must have been read. */
	async load(keys: readonly JobKey[]): Promise<void> {
		const fresh = this.expect(keys);
		if (fresh.length > 0) await this.query(LOAD_JOBS, KEYS.values(fresh));
	}

	/**
	 * The statement returns {@link COLUMNS} of locked rows, whose queues must have been read. Returns rows with this
	 * transaction's changes.
	 */
	async query(asked: Statement, values: Parameters<Runner["run"]>[1]): Promise<Row[]> {
		return await this.take((await this.#run(asked, values)).rows);
	}

	/**
	 * Rows of {@link COLUMNS}. Attempts are read after the locks: a statement that waited for the lock of a job sees the
	 * job as it is now, and other tables as they were before.
	 */
	async take(found: Value[][]): Promise<Row[]> {
		const withAttempts: JobKey[] = [];
		const rows = found.map((values) => this.#track(values, withAttempts));
		await this.#attempts.load(withAttempts);
		return rows;
	}

	#track(values: Value[], withAttempts: JobKey[]): Row {
		const row = rowOf(values, (endpoint) => this.#queues.of(endpoint));
		const known = this.#tracked.get(row.key);
		if (known?.row) return known.row;
		if (known?.stored) return row;
		this.#tracked.set(row.key, { row, stored: true, changed: false });
		if (values.at(-1) === true) withAttempts.push(row.job);
		return row;
	}

	find(key: JobKey): Row | undefined {
		const known = this.#tracked.get(keyOf(key));
		if (!known) throw new Error(`The row of job ${keyOf(key)} was not read.`);
		return known.row && !isPurged(known.row) ? known.row : undefined;
	}

	now({ key }: Row): Row | undefined {
		return this.#tracked.get(key)?.row;
	}

	insert(job: Job, inputBytes: number): Row {
		const queue = this.#queues.of(job.endpoint);
		const rank = this.#queues.nextBack(queue, job.queuedAt);
		this.#queues.added(queue, job.lowPriority);
		this.#queues.stored(queue, inputBytes);
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
		this.#tracked.set(row.key, { row, stored: false, changed: true });
		return row;
	}

	update(row: Row, change: RowChange): Row {
		const next: Row = { ...row, ...change };
		this.#queues.stored(row.queue, storedBytes(next) - storedBytes(row));
		this.#change(row, next);
		return next;
	}

	remove(row: Row): void {
		this.#queues.stored(row.queue, -storedBytes(row));
		this.#change(row, undefined);
	}

	#change({ key }: Row, row: Row | undefined): void {
		this.#tracked.set(key, { row, stored: this.#tracked.get(key)?.stored ?? true, changed: true });
	}

	/** Statements do not see these jobs yet. */
	waiting(queue: Queue): Row[] {
		const rows: Row[] = [];
		for (const { row, changed } of this.#tracked.values())
			if (row && changed && row.queue === queue && row.job.state === WAITING) rows.push(row);
		return rows;
	}

	waits(key: JobKey): boolean {
		return this.#tracked.get(keyOf(key))?.row?.job.state === WAITING;
	}

	of(endpoint: string): Row[] {
		const rows: Row[] = [];
		for (const { row } of this.#tracked.values())
			if (row && row.job.endpoint === endpoint && !isPurged(row)) rows.push(row);
		return rows;
	}

	/** Rows are read as stored; a deadline may have passed. */
	runningOn({ endpoint, worker }: WorkerKey): Row[] {
		return this.of(endpoint).filter(({ job }) => job.state === RUNNING && job.worker === worker);
	}

	flush(): Promise<unknown>[] {
		const inserted: Written[] = [];
		const updated: Written[] = [];
		const removed: JobKey[] = [];
		for (const [key, each] of this.#tracked) {
			const { row, stored, changed } = each;
			if (!changed) continue;
			if (row) {
				const past = this.#attempts.list(row).length > 0;
				(stored ? updated : inserted).push({ row, past, ...this.#payloads.columnsOf(row) });
			} else if (stored) {
				const [endpoint = "", ...id] = key.split("/");
				removed.push({ endpoint, id: id.join("/") });
			}
			each.changed = false;
			each.stored = row !== undefined;
		}
		return [
			...(inserted.length > 0 ? [this.#run(INSERT, INSERTED.values(inserted))] : []),
			...(updated.length > 0 ? [this.#run(UPDATE_JOBS, UPDATED.values(updated))] : []),
			...(removed.length > 0 ? [this.#run(REMOVE, KEYS.values(removed))] : []),
		];
	}
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
