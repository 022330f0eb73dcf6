/**
 * Job rows: read once, kept in a bounded cache (R1), written by changed columns. New rows are
 * written late (R2, R3). R1 to R8: see README.md.
 */
import type { Job } from "../../../core/job.ts";
import type { WorkerKey } from "../../operations/unit-of-work.ts";
import type { Database, Statement, Value } from "../database.ts";
import type { Queues } from "./queues.ts";
import { CHANGING, type Conversion, FIXED, jobReader, jobWriter, namesOf } from "../../job-columns.ts";
import { rowCache } from "./row-cache.ts";
import { storedBytes } from "../../row.ts";
import { isPurged, type Row } from "./row.ts";
import { RUNNING, WAITING } from "../../states.ts";

/** The members of a row that may change. */
type RowChange = Partial<Pick<Row, "job" | "rank" | "nextChunk" | "cursor" | "outputBytes">>;

export type Records = ReturnType<typeof openRecords>;

/** Rows kept in memory; about 1 kB each. */
const KEPT_ROWS = 2048;

/** Changing columns that are no member of the job, in the order of {@link changing}. */
const OWN = ["rank", "next_chunk", "cursor", "output_bytes"] as const;
const CHANGING_NAMES = [...namesOf(CHANGING), ...OWN];

/** Columns as read and inserted. */
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

/** `noted` gets the due time of every written row that has not ended (R6). */
export function openRecords({
	db,
	queues,
	noted,
	keptRows = KEPT_ROWS,
}: {
	db: Database;
	queues: Queues;
	noted: (dueAt: number) => void;
	keptRows?: number | undefined;
}) {
	const insertRow = db.prepare(`INSERT INTO jobs (${COLUMNS}) VALUES (${COLUMNS.replace(/\w+/g, "?")})`);
	const selectById = db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE id = ?`);
	const selectBySeq = db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE seq = ?`);
	const selectRunningOn = db.prepare(`SELECT seq FROM jobs WHERE worker = ? AND state = '${RUNNING}'`);
	const deleteRow = db.prepare("DELETE FROM jobs WHERE seq = ?");
	const updates = new Map<number, Statement>();
	let lastSeq = Number(db.prepare("SELECT max(seq) FROM jobs").get()?.[0]);

	/** New rows not yet written (R2), by number. */
	let unwritten = new Map<number, Row>();
	const cache = rowCache({ most: keptRows, beforeLeaving: flush });

	function read(values: Value[] | undefined): Row | undefined {
		return values && cache.keep(rowOf(values, queues));
	}

	function flush(): void {
		if (unwritten.size === 0) return;
		const rows = unwritten.values();
		unwritten = new Map();
		for (const row of rows) {
			const { job } = row;
			row.queue.unwritten[job.lowPriority ? 1 : 0].delete(row.seq);
			insertRow.run(row.seq, job.id, row.queue.number, row.inputBytes, ...fixedOf(job), ...changing(row));
		}
	}

	/** Holds a new row, and notes in its queue whether it waits. */
	function hold(row: Row): Row {
		const waiting = row.queue.unwritten[row.job.lowPriority ? 1 : 0];
		unwritten.set(row.seq, row);
		if (row.job.state === WAITING) waiting.set(row.seq, row);
		else waiting.delete(row.seq);
		return cache.keep(row);
	}

	/** The statement that sets the columns whose bits are in `mask`. */
	function updateOf(mask: number): Statement {
		let statement = updates.get(mask);
		if (!statement) {
			const columns = CHANGING_NAMES.filter((_, bit) => mask & (1 << bit));
			statement = db.prepare(`UPDATE jobs SET ${columns.map((column) => `${column} = ?`).join(", ")} WHERE seq = ?`);
			updates.set(mask, statement);
		}
		return statement;
	}

	/** The row with a number from an index, purged or not. */
	function at(seq: number): Row {
		const row = cache.bySeq(seq) ?? read(selectBySeq.get(seq));
		if (!row) throw new Error(`The store has no job number ${seq}, though an index names it.`);
		return row;
	}

	return {
		at,

		/** The row of a job of this endpoint, erased or not; undefined when purged. */
		find({ endpoint, id }: { endpoint: string; id: string }): Row | undefined {
			const row = cache.byId(id) ?? read(selectById.get(id));
			return row?.queue.endpoint === endpoint && !isPurged(row) ? row : undefined;
		},

		/** Jobs that run on a worker as stored: a deadline may have passed. */
		runningOn({ endpoint, worker }: WorkerKey): Row[] {
			flush();
			return selectRunningOn.all(worker).flatMap(([seq]) => {
				const row = at(Number(seq));
				return row.job.endpoint === endpoint ? [row] : [];
			});
		},

		/**
		 * Adds a waiting job at the back of its queue and counts it. Only {@link Records.prepare}
		 * queries find it (R2).
		 */
		insert(job: Job, inputBytes: number): Row {
			const queue = queues.of(job.endpoint);
			const rank = queues.nextBack();
			queues.added(queue, job.lowPriority);
			queues.stored(queue, inputBytes);
			lastSeq += 1;
			const row: Row = {
				seq: lastSeq,
				job,
				queue,
				rank,
				nextChunk: 0,
				cursor: 0,
				inputBytes,
				outputBytes: 0,
			};
			noted(job.dueAt);
			return hold(row);
		},

		flush,

		/** A query on `jobs`: writes new rows first, so that it finds them (R2). */
		prepare(sql: string): Pick<Statement, "get" | "all"> {
			const statement = db.prepare(sql);
			return {
				get(...values) {
					flush();
					return statement.get(...values);
				},
				all(...values) {
					flush();
					return statement.all(...values);
				},
			};
		},

		/** Writes the columns that differ and returns the new row. */
		update(row: Row, change: RowChange): Row {
			const after: Row = { ...row, ...change };
			queues.stored(row.queue, storedBytes(after) - storedBytes(row));
			if (after.job.endedAt === undefined) noted(after.job.dueAt);
			// R3: a row that moves to the back is written after the new rows.
			if (after.rank !== row.rank) flush();
			else if (unwritten.has(row.seq)) return hold(after);
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
			updateOf(mask).run(...values);
			return cache.keep(after);
		},

		remove({ seq }: { seq: number }): void {
			flush();
			const stored = at(seq);
			queues.stored(stored.queue, -storedBytes(stored));
			deleteRow.run(seq);
			const row = cache.bySeq(seq);
			if (row) cache.remove(row);
		},

		/** Clears the memory after a rollback (R1). */
		reload(): void {
			cache.clear();
			unwritten = new Map();
		},
	};
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
