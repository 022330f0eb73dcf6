/** What an acknowledgement says about a job, a file, an object or a batch from then on. */
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

/** What is known of the object of a key, from then on. */
export interface ExpectedObject {
	/** Its key, which only this endpoint has. */
	object: string;
	endpoint: string;
	/** Hashes of contents that the key may have; null: none. */
	may: (string | null)[];
}

/** What is known of an upload in parts, from then on. */
export interface ExpectedUpload {
	upload: string;
	key: string;
	endpoint: string;
	/** While it is completed or aborted, its row may be there or not. */
	state: "open" | "ending" | "ended";
	/** Numbers and ETags of parts that are stored, each by its last put. */
	parts: [number: number, etag: string][];
}
