/**
 * The rows of one dialect within one atomic step. SQLite reads rows on demand; PostgreSQL has read and locked what the
 * operation declared (`reads`, `follow`), and throws for other rows.
 */
import type { Attempt, Job, Operation } from "../../core/jobs/job.ts";
import type { JsonText } from "../../lib/json/json-text.ts";
import type { Transitions } from "../apply-transition.ts";
import type { JobRow, Result } from "../row.ts";
import type { ChunkRead } from "../contract/jobs.ts";
import type { Signal } from "../contract/store.ts";
import type { Views } from "../views.ts";

export interface JobKey {
	endpoint: string;
	id: string;
}

export interface WorkerKey {
	endpoint: string;
	worker: string;
}

/** A client's idempotency key (D14). */
export interface KeyPlace {
	endpoint: string;
	operation: Operation;
	key: string;
}

export interface KeyUse {
	bodyHash: string;
	/** May have been removed since. */
	job: string;
}

/** Chunks below `end` that a reader is writing to its client (D7 Delivery). */
export interface Reservation {
	readonly reader: string;
	readonly end: number;
}

/** Chunk numbers from `from` below `end`, at most `maxBytes` of text but at least one chunk. */
export interface RangeQuery {
	from: number;
	end: number;
	maxBytes: number;
}

export interface ReadUnit<Row extends JobRow> {
	records: {
		/** Erased or not; undefined when purged. */
		find(key: JobKey): Row | undefined;
	};
	attempts: {
		list(row: Row): Attempt[];
	};
	chunks: {
		/** Begins with the first chunk that exists; has no gap. */
		range(row: Row, q: RangeQuery): Omit<ChunkRead, "state">;
		/** The first number dropped when the running attempt is lost; chunks being delivered stay. */
		undelivered(row: Row): number;
	};
	transitions: Pick<Transitions<Row>, "project">;
	views: Views<Row>;
}

/** Rows are immutable: each change returns the new row. */
export interface UnitOfWork<Row extends JobRow> extends ReadUnit<Row> {
	records: ReadUnit<Row>["records"] & {
		insert(job: Job, inputBytes: number): Row;
		update(row: Row, change: Partial<JobRow>): Row;
		/** Rows are read as stored: a deadline may have passed. */
		runningOn(worker: WorkerKey): Row[];
	};
	attempts: ReadUnit<Row>["attempts"] & {
		includes(row: Row, worker: string): boolean;
		/** The worker may still run these (D16 Fence). */
		openOf(worker: WorkerKey): { row: Row; past: Attempt }[];
		setMissed(row: Row, past: Attempt, missed: number): void;
		/** `killed`: the attempt ended with its worker's process. */
		close(row: Row, past: Attempt, how?: Pick<Attempt, "killed" | "workerEnd">): void;
		closeAt(row: Row, worker: string): void;
	};
	payloads: {
		setInput(row: Row, input: JsonText): void;
		setResult(row: Row, result: Result): void;
	};
	chunks: ReadUnit<Row>["chunks"] & {
		insert(row: Row, number: number, text: string): void;
		/** Undefined unless all are still stored. */
		last(row: Row, count: number): string[] | undefined;
		isBusy(row: Row, reader: string): boolean;
		reservation(row: Row): Reservation | undefined;
		reserve(row: Row, reservation: Reservation): void;
		release(row: Row): Row;
	};
	idempotency: {
		/** Finds no expired key. */
		find(place: KeyPlace, now: number): KeyUse | undefined;
		put(place: KeyPlace, use: KeyUse, expiresAt: number): void;
	};
	transitions: Transitions<Row>;
	/** Settles passed deadlines first, until at most `most` jobs wait. */
	waiting(q: { endpoint: string; now: number; most: number }): number;
	/** Bytes (D43). */
	storedBytes(endpoint: string): number;
	notifyOthers(signal: Signal): void;
}
