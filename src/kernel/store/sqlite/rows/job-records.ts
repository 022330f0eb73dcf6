/**
 * Job rows: read once, kept in a bounded cache (R1), written by changed columns, new ones late (R2, R3). R1 to R8:
 * README.md.
 */
import type { Job } from "../../../core/jobs/job.ts";
import type { JobKey, WorkerKey } from "../../operations/unit-of-work.ts";
import type { Database, Statement, Value } from "../file/database.ts";
import type { Queues } from "./queues.ts";
import { CHANGING, type Conversion, FIXED, jobReader, jobWriter, namesOf } from "../../job-columns.ts";
import { rowCache } from "./row-cache.ts";
import { storedBytes, RUNNING, WAITING } from "../../row.ts";
import { isPurged, type Numbered, type Row } from "./row.ts";

type RowChange = Partial<Pick<Row, "job" | "rank" | "nextChunk" | "cursor" | "outputBytes">>;

/** Rows that are kept, about 1 kB each. */
const KEPT_ROWS = 2048;

/** Columns that are not members of the job, in the order of {@link changing}. */
const OWN = ["rank", "next_chunk", "cursor", "output_bytes"] as const;
const CHANGING_NAMES = [...namesOf(CHANGING), ...OWN];

const NAMES = ["seq", "id", "queue", "input_bytes", ...namesOf(FIXED), ...CHANGING_NAMES];
const COLUMNS = NAMES.join(", ");

const [SEQ, QUEUE, INPUT_BYTES, RANK, NEXT_CHUNK, CURSOR, OUTPUT_BYTES] = ["seq", "queue", "input_bytes", ...OWN].map(
	(name) => NAMES.indexOf(name),
) as [number, number, number, number, number, number, number];

const write: Conversion = ({ type, nullable }, value) =>
	type === "bool" ? `Number(${value})` : nullable ? `${value} ?? null` : value;
const fixedOf = jobWriter<Value>(FIXED, write);
const changingOf = jobWriter<Value>(CHANGING, write);
const jobOf = jobReader(NAMES, ({ type, nullable }, value) =>
	type === "bool" ? `${value} === 1` : nullable ? `${value} ?? undefined` : value,
);

function changing({ job, rank, nextChunk, cursor, outputBytes }: Row): Value[] {
	const values = changingOf(job);
	values.push(rank, nextChunk, cursor, outputBytes);
	return values;
}

function statementsOf(db: Database) {
	return {
		insert: db.prepare(`INSERT INTO jobs (${COLUMNS}) VALUES (${COLUMNS.replace(/\w+/g, "?")})`),
		selectById: db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE id = ?`),
		selectBySeq: db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE seq = ?`),
		selectRunningOn: db.prepare(`SELECT seq FROM jobs WHERE worker = ? AND state = '${RUNNING}'`),
		remove: db.prepare("DELETE FROM jobs WHERE seq = ?"),
	};
}

export class Records {
	readonly #db;
	readonly #queues;
	readonly #noted;
	readonly #sql;
	/** Statements by the columns that they set, one bit each. */
	readonly #updates = new Map<number, Statement>();
	readonly #cache;
	/** New rows not yet written (R2), by number. */
	#unwritten = new Map<number, Row>();
	#lastSeq: number;

	/** `noted` is called with the due time of every written row that has not ended (R6). */
	constructor(db: Database, queues: Queues, noted: (dueAt: number) => void, keptRows = KEPT_ROWS) {
		this.#db = db;
		this.#queues = queues;
		this.#noted = noted;
		this.#sql = statementsOf(db);
		this.#lastSeq = Number(db.prepare("SELECT max(seq) FROM jobs").get()?.[0]);
		this.#cache = rowCache(keptRows, () => this.flush());
	}

	at(seq: number): Row {
		const row = this.#cache.bySeq(seq) ?? this.#keep(this.#sql.selectBySeq.get(seq));
		if (!row) throw new Error(`The store has no job number ${seq}, though an index names it.`);
		return row;
	}

	/** Returns the row of a job, erased or not; undefined if it was purged. */
	find({ endpoint, id }: JobKey): Row | undefined {
		const row = this.#cache.byId(id) ?? this.#keep(this.#sql.selectById.get(id));
		return row?.queue.endpoint === endpoint && !isPurged(row) ? row : undefined;
	}

	runningOn({ endpoint, worker }: WorkerKey): Row[] {
		this.flush();
		return this.#sql.selectRunningOn.all(worker).flatMap(([seq]) => {
			const row = this.at(Number(seq));
			return row.job.endpoint === endpoint ? [row] : [];
		});
	}

	/** Inserts a row. Only queries of {@link Records.prepare} find it before it is written (R2). */
	insert(job: Job, inputBytes: number): Row {
		const queue = this.#queues.of(job.endpoint);
		const rank = this.#queues.nextBack();
		this.#queues.added(queue, job.lowPriority);
		this.#queues.stored(queue, inputBytes);
		this.#lastSeq += 1;
		const seq = this.#lastSeq;
		this.#noted(job.dueAt);
		return this.#hold({ seq, job, queue, rank, nextChunk: 0, cursor: 0, inputBytes, outputBytes: 0 });
	}

	flush(): void {
		if (this.#unwritten.size === 0) return;
		const rows = this.#unwritten.values();
		this.#unwritten = new Map();
		for (const row of rows) {
			const { seq, job, queue } = row;
			queue.unwritten[job.lowPriority ? 1 : 0].delete(seq);
			this.#sql.insert.run(seq, job.id, queue.number, row.inputBytes, ...fixedOf(job), ...changing(row));
		}
	}

	/** Prepares a query on `jobs` that first writes new rows (R2). */
	prepare(sql: string): Pick<Statement, "get" | "all"> {
		const statement = this.#db.prepare(sql);
		return {
			get: (...values) => {
				this.flush();
				return statement.get(...values);
			},
			all: (...values) => {
				this.flush();
				return statement.all(...values);
			},
		};
	}

	update(row: Row, change: RowChange): Row {
		const after: Row = { ...row, ...change };
		this.#queues.stored(row.queue, storedBytes(after) - storedBytes(row));
		if (after.job.endedAt === undefined) this.#noted(after.job.dueAt);
		// R3: a row that moves to the back is written after the new rows.
		if (after.rank !== row.rank) this.flush();
		else if (this.#unwritten.has(row.seq)) return this.#hold(after);
		const old = changing(row);
		const values: Value[] = [];
		let mask = 0;
		changing(after).forEach((value, bit) => {
			if (value === old[bit]) return;
			mask |= 1 << bit;
			values.push(value);
		});
		if (mask === 0) return row;
		values.push(row.seq);
		this.#updateOf(mask).run(...values);
		return this.#cache.keep(after);
	}

	remove({ seq }: Numbered): void {
		this.flush();
		const stored = this.at(seq);
		this.#queues.stored(stored.queue, -storedBytes(stored));
		this.#sql.remove.run(seq);
		const row = this.#cache.bySeq(seq);
		if (row) this.#cache.remove(row);
	}

	reload(): void {
		this.#cache.clear();
		this.#unwritten = new Map();
	}

	#keep(values: Value[] | undefined): Row | undefined {
		return values && this.#cache.keep(rowOf(values, this.#queues));
	}

	#hold(row: Row): Row {
		const waiting = row.queue.unwritten[row.job.lowPriority ? 1 : 0];
		this.#unwritten.set(row.seq, row);
		if (row.job.state === WAITING) waiting.set(row.seq, row);
		else waiting.delete(row.seq);
		return this.#cache.keep(row);
	}

	#updateOf(mask: number): Statement {
		let statement = this.#updates.get(mask);
		if (!statement) {
			const columns = CHANGING_NAMES.filter((_, bit) => mask & (1 << bit));
			const set = columns.map((column) => `${column} = ?`).join(", ");
			statement = this.#db.prepare(`UPDATE jobs SET ${set} WHERE seq = ?`);
			this.#updates.set(mask, statement);
		}
		return statement;
	}
}

function rowOf(values: Value[], queues: Queues): Row {
	const queue = queues.numbered(Number(values[QUEUE]));
	return {
		seq: Number(values[SEQ]),
		job: jobOf(values, queue.endpoint),
		queue,
		rank: Number(values[RANK]),
		nextChunk: Number(values[NEXT_CHUNK]),
		cursor: Number(values[CURSOR]),
		inputBytes: Number(values[INPUT_BYTES]),
		outputBytes: Number(values[OUTPUT_BYTES]),
	};
}
