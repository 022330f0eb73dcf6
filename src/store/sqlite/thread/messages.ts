/** The messages that carry operations to the database thread and back. */
import type { StoredSecrets } from "../../key-check.ts";
import type { Signal, StoreUnavailable } from "../../contract/store.ts";

/** A batch: number and packed query of each operation in turn; or the request to close. */
export type Batch = unknown[] | "close";

/** An operation that failed: its place in the batch, and the error without its class. */
export interface Failure {
	index: number;
	why?: StoreUnavailable["why"] | undefined;
	message: string;
}

/**
 * The packed answers of one or more batches in their order, what failed in them, and the signals of
 * their commit.
 */
export interface Reply {
	/** How many batches are answered. */
	batches: number;
	answers: unknown[];
	failures: Failure[];
	signals: Signal[];
}

/** Second message to the database thread: the check value to store, if any. */
export interface Admission {
	check: string | undefined;
}

/**
 * First message of the database thread: the file is open, and what it knows of its key. The second,
 * after the {@link Admission}: it is ready. Or why it cannot be.
 */
export type Greeting =
	| { ready: true; stored: StoredSecrets }
	| ({ ready: false } & Omit<Failure, "index">);
