import type { JobState } from "../../core/jobs/job-states.ts";

/** Chunk texts from number `from`, and the state of their job. */
export interface ChunkRead {
	state: JobState;
	from: number;
	/** Number of the first chunk after this answer. */
	next: number;
	/** JSON texts of chunk objects, `{"output":…,"metrics":…}`. */
	chunks: string[];
	more: boolean;
	/** Another reader holds a reservation: no chunk can be delivered now (D7 Delivery). */
	busy?: true;
}

export interface ChunkStore {
	/**
	 * Adds chunks in order and renews the lease. `stale`: the worker does not hold the job, `missing`: it never did.
	 * `unlessLast`: chunks equal to the last stored ones are dropped as a repeat. `full`: the job would have more than
	 * `bound`. `from`: number of the first chunk, unless `repeat`.
	 */
	append(q: {
		endpoint: string;
		id: string;
		worker: string;
		release?: number | undefined;
		chunks: readonly string[];
		unlessLast: boolean;
		bound?: { bytes: number; chunks: number } | undefined;
		now: number;
	}): Promise<
		{ ok: true; repeat: boolean; from: number; attempt: number } | { ok: false; why: "missing" | "stale" | "full" }
	>;
	/** Does not move the cursor. Undefined for an unknown job. */
	read(q: {
		endpoint: string;
		id: string;
		from: number;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/**
	 * Reserves the undelivered chunks for `reader`, if there are any. While another reader holds a reservation, the
	 * answer is empty and `busy`, with `next` at its start.
	 */
	reserve(q: {
		endpoint: string;
		id: string;
		reader: string;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/** `delivered` moves the cursor; otherwise the range is free again. */
	deliver(q: { endpoint: string; id: string; reader: string; delivered: boolean }): Promise<void>;
}
