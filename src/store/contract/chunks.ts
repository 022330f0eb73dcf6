/** Chunks of streams in the store's contract. The rules of the contract: store.ts. */
import type { JobState } from "../../core/job-states.ts";

/** Chunk texts from number `from`, and the state of their job. */
export interface ChunkRead {
	state: JobState;
	from: number;
	/** Number of the next chunk that is not in this answer. */
	next: number;
	/** JSON texts of chunk objects, `{"output":…,"metrics":…}`. */
	chunks: string[];
	/** There are more chunks than this answer holds. */
	more: boolean;
	/** Another reader holds a reservation: nothing can be given now (D7 Delivery). */
	busy?: true;
}

export interface ChunkStore {
	/**
	 * Adds chunks in order and renews the lease. `stale` when the worker does not hold the job,
	 * `missing` when it never did. With `unlessLast`, chunks equal to the last ones stored are a
	 * repeat and dropped.
	 */
	append(q: {
		endpoint: string;
		id: string;
		worker: string;
		chunks: readonly string[];
		unlessLast: boolean;
		now: number;
	}): Promise<{ ok: true; repeat: boolean } | { ok: false; why: "missing" | "stale" }>;
	/** Chunks from number `from`, without moving the cursor. Undefined for an unknown job. */
	read(q: {
		endpoint: string;
		id: string;
		from: number;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/**
	 * Reserves the undelivered chunks for `reader`; no chunks, no reservation. While another reader
	 * holds one, the answer is empty and `busy`, and `next` is where that reservation begins.
	 */
	reserve(q: {
		endpoint: string;
		id: string;
		reader: string;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/** Ends a reservation: `delivered` moves the cursor, otherwise the range is free again. */
	deliver(q: { endpoint: string; id: string; reader: string; delivered: boolean }): Promise<void>;
}
