/** What the module that keeps files of jobs lends to modules that make some. */

export interface JobFiles {
	/**
	 * Stores a file of a job, and returns a link by which anyone may read it for 7 days. Throws `ApiError` where there is
	 * no room, and `StoreUnavailable`.
	 */
	put(job: string, file: JobFile): Promise<string>;
}

export interface JobFile {
	/** Such as `1.png`. */
	name: string;
	contentType: string;
	pieces: Iterable<Uint8Array>;
}
