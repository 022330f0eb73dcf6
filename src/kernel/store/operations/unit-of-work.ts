/**
 * The rows of one dialect within one atomic step. SQLite reads rows on demand; PostgreSQL has read and locked what the
 * operation declared (`reads`, `follow`), and throws for other rows.
 */
import type { StoredSigns } from "../../core/jobs/attempt-signs.ts";
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
	/** Id of the job, which may have been removed since. */
	job: string;
}

/** Chunks below `end` that a reader is writing to its client (D7 Delivery). */
export interface Reservation {
	readonly reader: string;
	readonly end: number;
}

/** Chunks with numbers from `from` below `end`: at most `maxBytes` of text, but at least one chunk. */
export interface RangeQuery {
	from: number;
	end: number;
	maxBytes: number;
}

export interface ReadUnit<Row extends JobRow> {
	records: {
		/** Returns the row of a job, erased or not; undefined if it was purged. */
		find(key: JobKey): Row | undefined;
	};
	attempts: {
		list(row: Row): Attempt[];
	};
	chunks: {
		/** Returns chunks without a gap, beginning with the first one that exists. */
		range(row: Row, q: RangeQuery): Omit<ChunkRead, "state">;
		/**
		 * Returns the number of the first chunk that is removed when the running attempt is lost; chunks being delivered
		 * stay.
		 */
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
		/** Returns the rows of running jobs as stored: a deadline may have passed. */
		runningOn(worker: WorkerKey): Row[];
	};
	attempts: ReadUnit<Row>["attempts"] & {
		includes(row: Row, worker: string): boolean;
		/** Returns the old attempts that the worker may still run (D16 Fence). */
		openOf(worker: WorkerKey): { row: Row; past: Attempt }[];
		setSigns(row: Row, past: Attempt, signs: StoredSigns): void;
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
		/** Returns the last `count` chunks; undefined unless all of them are still stored. */
		last(row: Row, count: number): string[] | undefined;
		isBusy(row: Row, reader: string): boolean;
		reservation(row: Row): Reservation | undefined;
		reserve(row: Row, reservation: Reservation): void;
		release(row: Row): Row;
	};
	idempotency: {
		/** Returns the use of a key that has not expired. */
		find(place: KeyPlace, now: number): KeyUse | undefined;
		put(place: KeyPlace, use: KeyUse, expiresAt: number): void;
	};
	transitions: Transitions<Row>;
	/** Settles passed deadlines first, until at most `most` jobs wait. */
	waiting(q: { endpoint: string; now: number; most: number }): number;
	/** Returns the bytes that the endpoint's jobs have stored (D43). */
	storedBytes(endpoint: string): number;
	notifyOthers(signal: Signal): void;
}
