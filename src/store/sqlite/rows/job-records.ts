/**
 * The rows of jobs: read once, then kept in a bounded memory, and written by what changed. This
 * thread is the only writer, so the memory cannot be stale; a transaction that fails clears it. A
 * new row is written late, at the end of its transaction or before a query, so that a job claimed
 * in the batch of its insert is written once.
 */
import type { Job, Operation } from "../../../core/job.ts";
import type { JobState } from "../../../core/job-states.ts";
import type { Database, Statement, Value } from "../database.ts";
import type { Queues } from "./queues.ts";
import { rowCache } from "./row-cache.ts";
import { isPurged } from "./row.ts";
import type { Queue, Row } from "./row.ts";
import { WAITING } from "../../states.ts";

/** What of a row may be replaced. */
type RowChange = Partial<Pick<Row, "job" | "rank" | "nextChunk" | "cursor">>;

export type Records = ReturnType<typeof openRecords>;

/** Rows kept in memory; about 1 kB each. */
const KEPT_ROWS = 2048;

/** Columns that change, in the order of {@link changing}. */
const CHANGING = [
	"state",
	"queued_at",
	"started_at",
	"ended_at",
	"attempt",
	"worker",
	"losses",
	"returns",
	"missed",
	"lease_until",
	"retain_ms",
	"erased",
	"due_at",
	"webhook",
	"s3_config",
	"rank",
	"next_chunk",
	"cursor",
] as const;

function changing({ job, rank, nextChunk, cursor }: Row): Value[] {
	return [
		job.state,
		job.queuedAt,
		job.startedAt ?? null,
		job.endedAt ?? null,
		job.attempt,
		job.worker ?? null,
		job.losses,
		job.returns,
		job.missed,
		job.leaseUntil ?? null,
		job.retainMs,
		Number(job.erased),
		job.dueAt,
		job.webhook ?? null,
		job.s3Config ?? null,
		rank,
		nextChunk,
		cursor,
	];
}

/** Columns as they are read and inserted. */
const COLUMNS = `seq, id, queue, operation, low_priority, submitted_at, ttl_ms, execution_timeout_ms, lease_ms, record_ms, ${CHANGING.join(", ")}`;

/** Rows of `db`. `noted` is told the due time of every row written that has not ended. */
export function openRecords({
	db,
	queues,
	noted,
}: {
	db: Database;
	queues: Queues;
	noted: (dueAt: number) => void;
}) {
	const insertRow = db.prepare(
		`INSERT INTO jobs (${COLUMNS}) VALUES (${COLUMNS.replace(/\w+/g, "?")})`,
	);
	const selectById = db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE id = ?`);
	const selectBySeq = db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE seq = ?`);
	const deleteRow = db.prepare("DELETE FROM jobs WHERE seq = ?");
	const updates = new Map<number, Statement>();
	let lastSeq = Number(db.prepare("SELECT max(seq) FROM jobs").get()?.[0]);

	/** New rows that are not in the file yet, in the order of their numbers. */
	let unwritten = new Map<number, Row>();
	const cache = rowCache({ most: KEPT_ROWS, beforeLeaving: flush });

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
			insertRow.run(
				row.seq,
				job.id,
				row.queue.number,
				job.operation,
				Number(job.lowPriority),
				job.submittedAt,
				job.ttlMs,
				job.executionTimeoutMs,
				job.leaseMs,
				job.recordMs,
				...changing(row),
			);
		}
	}

	/** Notes a new row, and with its queue whether it waits. */
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
			const columns = CHANGING.filter((_, bit) => mask & (1 << bit));
			statement = db.prepare(
				`UPDATE jobs SET ${columns.map((column) => `${column} = ?`).join(", ")} WHERE seq = ?`,
			);
			updates.set(mask, statement);
		}
		return statement;
	}

	return {
		/** The row of a job of this endpoint, erased or not; none of a purged one. */
		find({ endpoint, id }: { endpoint: string; id: string }): Row | undefined {
			const row = cache.byId(id) ?? read(selectById.get(id));
			return row?.queue.endpoint === endpoint && !isPurged(row) ? row : undefined;
		},

		/** The row with a number that an index gave, purged or not. */
		at(seq: number): Row {
			const row = cache.bySeq(seq) ?? read(selectBySeq.get(seq));
			if (!row) throw new Error(`The store has no job number ${seq}, though an index names it.`);
			return row;
		},

		/** Adds a row; whoever queries the table must do so by {@link Records.prepare}. */
		insert({ job, queue, rank }: { job: Job; queue: Queue; rank: number }): Row {
			lastSeq += 1;
			const row: Row = { seq: lastSeq, job, queue, rank, nextChunk: 0, cursor: 0 };
			noted(job.dueAt);
			return hold(row);
		},

		flush,

		/** A query on the table of jobs: writes new rows first, so that it finds them. */
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

		/** Writes the columns that differ and answers the row as it is now. */
		update(row: Row, change: RowChange): Row {
			const after: Row = { ...row, ...change };
			if (after.job.endedAt === undefined) noted(after.job.dueAt);
			// New rows are behind all others of their queue: what moves to its back is written after
			// them.
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
			deleteRow.run(seq);
			const row = cache.bySeq(seq);
			if (row) cache.remove(row);
		},

		/** Forgets what is in memory, after a transaction that failed. */
		reload(): void {
			cache.clear();
			unwritten = new Map();
		},
	};
}

function rowOf(values: Value[], queues: Queues): Row {
	const [
		seq,
		id,
		number,
		operation,
		lowPriority,
		submittedAt,
		ttlMs,
		executionTimeoutMs,
		leaseMs,
		recordMs,
		state,
		queuedAt,
		startedAt,
		endedAt,
		attempt,
		worker,
		losses,
		returns,
		missed,
		leaseUntil,
		retainMs,
		erased,
		dueAt,
		webhook,
		s3Config,
		rank,
		nextChunk,
		cursor,
	] = values as [
		number,
		string,
		number,
		Operation,
		number,
		number,
		number,
		number,
		number,
		number,
		JobState,
		number,
		number | null,
		number | null,
		number,
		string | null,
		number,
		number,
		number,
		number | null,
		number,
		number,
		number,
		string | null,
		string | null,
		number,
		number,
		number,
	];
	const queue = queues.numbered(number);
	const job: Job = {
		id,
		endpoint: queue.endpoint,
		operation,
		lowPriority: lowPriority === 1,
		state,
		submittedAt,
		queuedAt,
		startedAt: startedAt ?? undefined,
		endedAt: endedAt ?? undefined,
		attempt,
		worker: worker ?? undefined,
		losses,
		returns,
		missed,
		ttlMs,
		executionTimeoutMs,
		leaseMs,
		leaseUntil: leaseUntil ?? undefined,
		retainMs,
		recordMs,
		erased: erased === 1,
		dueAt,
		webhook: webhook ?? undefined,
		s3Config: s3Config ?? undefined,
	};
	return { seq, job, queue, rank, nextChunk, cursor };
}
