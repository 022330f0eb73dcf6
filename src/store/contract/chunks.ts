/** Stream chunks in the store's contract; rules: store.ts. */
import type { JobState } from "../../core/job-states.ts";

/** Chunk texts from number `from`, and the state of their job. */
export interface ChunkRead {
	state: JobState;
	from: number;
	/** Number of the first chunk after this answer. */
	next: number;
	/** JSON texts of chunk objects, `{"output":…,"metrics":…}`. */
	chunks: string[];
	/** More chunks exist. */
	more: boolean;
	/** Another reader holds a reservation: no chunk can be delivered now (D7 Delivery). */
	busy?: true;
}

export interface ChunkStore {
	/**
	 * Adds chunks in order and renews the lease. `stale` when the worker does not hold the job,
	 * `missing` when it never did. With `unlessLast`, chunks equal to the last stored ones are
	 * dropped as a repeat. `full` when the job would have more than `bound` then. `from`: number of the
	 * first chunk, unless `repeat`.
	 */
	append(q: {
		endpoint: string;
		id: string;
		worker: string;
		chunks: readonly string[];
		unlessLast: boolean;
		bound?: { bytes: number; chunks: number } | undefined;
		now: number;
	}): Promise<
		{ ok: true; repeat: boolean; from: number; attempt: number } | { ok: false; why: "missing" | "stale" | "full" }
	>;
	/** Chunks from number `from`; does not move the cursor. Undefined for an unknown job. */
	read(q: {
		endpoint: string;
		id: string;
		from: number;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/**
	 * Reserves the undelivered chunks for `reader`; without chunks, no reservation. While another
	 * reader holds one, the answer is empty and `busy`, with `next` at the start of that reservation.
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
