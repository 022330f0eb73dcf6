/** A job's row, without the members specific to a dialect. */
import type { Job } from "../core/job.ts";
import type { JsonText } from "../core/json/json-text.ts";

/** Never changed in place. */
export interface JobRow {
	readonly job: Job;
	/** Position in the queue, smallest first. */
	readonly rank: number;
	/** Number of the next chunk. */
	readonly nextChunk: number;
	/** Number of the next chunk to deliver. */
	readonly cursor: number;
	/** Sizes of the input, and of the result and all chunks since the submission or a retry. */
	readonly inputBytes: number;
	readonly outputBytes: number;
}

/** What a job counts for its endpoint's `limits.storedMb` (D43). */
export function storedBytes({ job, inputBytes, outputBytes }: JobRow): number {
	return job.erased ? 0 : inputBytes + outputBytes;
}

export interface Result {
	output?: JsonText | undefined;
	/** Size of a large output that was not read. */
	outputBytes?: number;
	error?: string | undefined;
}
