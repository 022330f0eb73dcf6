/** What an acknowledgement says about a job, a file or a batch from then on. */
import type { JobState } from "../../../src/kernel/core/jobs/job-states.ts";

export interface Expected {
	endpoint: string;
	id: string;
	input?: string;
	/** Had the job at some time. */
	worker?: string;
	chunk?: string;
	/** Final. */
	state?: JobState;
	output?: string;
}

/** What is known of a file, from then on. */
export interface ExpectedFile {
	/** Of no other file. */
	name: string;
	endpoint: string;
	hash: string;
	/** When it is stored. */
	id?: string;
	/** While it is uploaded or deleted, its row may be there or not. */
	state: "uploading" | "stored" | "deleting" | "deleted";
}

/** What is known of a batch, from then on. */
export interface ExpectedBatch {
	batch: string;
	endpoint: string;
	/** While it is created, its row may be there or not. */
	state: "creating" | "open" | "ended";
	/** Of its row, when it has ended. */
	hash?: string;
}
