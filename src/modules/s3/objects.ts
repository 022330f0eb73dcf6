/** Objects of a job: those whose key, or its first folder, names the job (D59). */

export interface JobObject {
	bucket: string;
	key: string;
	bytes: number;
	contentType: string;
	/** A presigned link, valid as long as the object is kept, for at most 7 days. */
	url: string;
}

/** The objects of a job, the newest first, at most 100. Empty for an unknown job. */
export type ObjectsOfJob = (endpoint: string, jobId: string) => Promise<JobObject[]>;
