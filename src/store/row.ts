/** A job's row without the keys of a dialect. */
import type { Job } from "../core/job.ts";
import type { JsonText } from "../core/json/json-text.ts";

/** A row; never changed in place. */
export interface JobRow {
	readonly job: Job;
	/** Place in the queue, smallest first. */
	readonly rank: number;
	/** Number of the next chunk. */
	readonly nextChunk: number;
	/** Number of the next chunk to deliver. */
	readonly cursor: number;
}

/** The result texts of a job. */
export interface Result {
	output?: JsonText | undefined;
	error?: string | undefined;
}
