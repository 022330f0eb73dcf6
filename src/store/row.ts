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
}

export interface Result {
	output?: JsonText | undefined;
	/** Of a large output that was not read. */
	outputBytes?: number;
	error?: string | undefined;
}
