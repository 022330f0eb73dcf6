/**
 * What operations work on: the rows of one dialect within one atomic step. SQLite reads rows on
 * demand; PostgreSQL has read and locked what the operation declared (`reads`, `follow`), and
 * throws for other rows.
 */
import type { Attempt, Job, Operation } from "../../core/job.ts";
import type { JsonText } from "../../core/json/json-text.ts";
import type { Transitions } from "../apply-transition.ts";
import type { JobRow, Result } from "../row.ts";
import type { ChunkRead } from "../contract/chunks.ts";
import type { Signal } from "../contract/store.ts";
import type { Views } from "../views.ts";

/** Names a job. */
export interface JobKey {
	endpoint: string;
	id: string;
}

/** Names a worker of an endpoint. */
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

/** What an idempotency key was used for. */
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

/** Chunk numbers from `from` below `end`, at most `maxBytes` of text but at least one chunk. */
export interface RangeQuery {
	from: number;
	end: number;
	maxBytes: number;
}

/** Unit for operations that only read. */
export interface ReadUnit<Row extends JobRow> {
	records: {
		/** The row of a job, erased or not; undefined when purged. */
		find(key: JobKey): Row | undefined;
	};
	attempts: {
		/** Ended attempts, oldest first. */
		list(row: Row): Attempt[];
	};
	chunks: {
		/** Chunks of a range from the first that exists, without a gap. */
		range(row: Row, q: RangeQuery): Omit<ChunkRead, "state">;
		/** The first number dropped when the running attempt is lost; chunks being delivered stay. */
		undelivered(row: Row): number;
	};
	transitions: Pick<Transitions<Row>, "project">;
	views: Views<Row>;
}

/** Unit for all other operations. Rows are immutable: each change returns the new row. */
export interface UnitOfWork<Row extends JobRow> extends ReadUnit<Row> {
	records: ReadUnit<Row>["records"] & {
		/** Adds a waiting job at the back of its queue, and counts it. */
		insert(job: Job, inputBytes: number): Row;
		update(row: Row, change: Partial<JobRow>): Row;
		/** Jobs that run on a worker as stored: a deadline may have passed. */
		runningOn(worker: WorkerKey): Row[];
	};
	attempts: ReadUnit<Row>["attempts"] & {
		/** Whether the worker had an ended attempt of the job. */
		includes(row: Row, worker: string): boolean;
		/** Old attempts that the worker may still run (D16 Fence). */
		openOf(worker: WorkerKey): { row: Row; past: Attempt }[];
		setMissed(row: Row, past: Attempt, missed: number): void;
		/** The attempt has ended at its worker; `killed`: with its process. */
		close(row: Row, past: Attempt, how?: Pick<Attempt, "killed" | "workerEnd">): void;
		/** Every attempt of the job at this worker has ended. */
		closeAt(row: Row, worker: string): void;
	};
	payloads: {
		setInput(row: Row, input: JsonText): void;
		setResult(row: Row, result: Result): void;
	};
	chunks: ReadUnit<Row>["chunks"] & {
		insert(row: Row, number: number, text: string): void;
		/** The last `count` chunks of the row, if all are still stored. */
		last(row: Row, count: number): string[] | undefined;
		/** Whether another reader's reservation is active. */
		isBusy(row: Row, reader: string): boolean;
		reservation(row: Row): Reservation | undefined;
		reserve(row: Row, reservation: Reservation): void;
		/** Ends the reservation and returns the row after it. */
		release(row: Row): Row;
	};
	idempotency: {
		/** The use of a key that has not expired. */
		find(place: KeyPlace, now: number): KeyUse | undefined;
		put(place: KeyPlace, use: KeyUse, expiresAt: number): void;
	};
	transitions: Transitions<Row>;
	/**
	 * How many jobs of the endpoint wait. Settles passed deadlines first, until at most `most` wait.
	 */
	waiting(q: { endpoint: string; now: number; most: number }): number;
	/** Inputs, results and chunks of the endpoint's jobs, bytes (D43). */
	storedBytes(endpoint: string): number;
	/** Sends a signal to other servers that share the store. */
	notifyOthers(signal: Signal): void;
}
