import type { Job } from "../core/jobs/job.ts";
import type { JsonText } from "../lib/json/json-text.ts";

/** Never changed in place. */
export interface JobRow {
	readonly job: Job;
	readonly rank: number;
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
