import type { MessagePort } from "node:worker_threads";
import type { StoredSecrets } from "../../../secrets/key-check.ts";
import type { Signal, StoreUnavailable } from "../../contract/store.ts";
import type { DatabaseOptions } from "../file/database.ts";
import type { TurnMemory } from "./turn.ts";

export interface ThreadData extends DatabaseOptions {
	/** Carries `CopyRequest` and `CopyReply` (`copier.ts`), apart from the order of batches (T2). */
	backups: MessagePort;
	/** What the thread may wait for before it commits (T11). */
	turn: TurnMemory;
}

/** Number and packed query of each operation in turn; or the request to close. */
export type Batch = unknown[] | "close";

/** `index`: position in the batch. The error lacks its class. */
export interface Failure {
	index: number;
	why?: StoreUnavailable["why"] | undefined;
	unsure?: boolean | undefined;
	message: string;
}

export interface Reply {
	batches: number;
	/** Time of the commit, ms; absent where nothing was written, or operations ran alone after a failure. */
	commitMs: number | undefined;
	answers: unknown[];
	failures: Failure[];
	signals: Signal[];
	segments: SegmentBytes[];
}

/** Bytes of a payload file that rows refer to. */
export type SegmentBytes = readonly [segment: number, bytes: number];

/** First message of the thread: the file is open. Second, after the {@link KeyCheck}: it is ready. Or an error. */
export type Startup =
	| { ok: true; stored: StoredSecrets; segments: SegmentBytes[] }
	| ({ ok: false } & Omit<Failure, "index">);

/** `check`: the check value of the encryption key to store, if any. */
export interface KeyCheck {
	check: string | undefined;
}
