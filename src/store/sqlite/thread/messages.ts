/** Messages to and from the database thread. */
import type { MessagePort } from "node:worker_threads";
import type { StoredSecrets } from "../../key-check.ts";
import type { Signal, StoreUnavailable } from "../../contract/store.ts";
import type { DatabaseOptions } from "../database.ts";
import type { TurnMemory } from "./turn.ts";

export interface ThreadData extends DatabaseOptions {
	/** Carries `CopyRequest` and `CopyReply` (`copier.ts`), apart from the order of batches (T2). */
	backups: MessagePort;
	/** What the thread may wait for before it commits (T11). */
	turn: TurnMemory;
}

/** A batch: number and packed query of each operation in turn; or the request to close. */
export type Batch = unknown[] | "close";

/** A failed operation: its index in the batch, and the error without its class. */
export interface Failure {
	index: number;
	why?: StoreUnavailable["why"] | undefined;
	unsure?: boolean | undefined;
	message: string;
}

/**
 * The packed answers of one or more batches in order, their failures, and the signals of their
 * commit.
 */
export interface Reply {
	/** Number of batches answered. */
	batches: number;
	answers: unknown[];
	failures: Failure[];
	signals: Signal[];
	/** Payload files whose bytes that rows refer to have changed. */
	segments: SegmentBytes[];
}

/** Bytes of a payload file that rows refer to. */
export type SegmentBytes = readonly [segment: number, bytes: number];

/**
 * First message of the database thread: the file is open, with its stored secrets. Second, after the
 * {@link KeyCheck}: it is ready, with the payload files in use. Or an error.
 */
export type Startup =
	| { ok: true; stored: StoredSecrets; segments: SegmentBytes[] }
	| ({ ok: false } & Omit<Failure, "index">);

/** Answer to the first {@link Startup}: the check value of the encryption key to store, if any. */
export interface KeyCheck {
	check: string | undefined;
}
