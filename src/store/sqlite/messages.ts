/** The messages that carry operations to the database thread and back. */
import type { Signal, StoreUnavailable } from "../store.ts";

/** A batch: number and packed query of each operation in turn; or the word to end. */
export type Batch = unknown[] | "close";

/** An operation that failed: its place in the batch, and the error without its class. */
export interface Failure {
  index: number;
  why?: StoreUnavailable["why"] | undefined;
  message: string;
}

/** The packed answers of a batch in its order, what failed in it, and the signals of its commit. */
export interface Reply {
  answers: unknown[];
  failures: Failure[];
  signals: Signal[];
}

/** First word of the database thread: ready, or why it cannot be. */
export type Greeting = { ready: true } | ({ ready: false } & Omit<Failure, "index">);
