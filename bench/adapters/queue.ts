/** What is compared: a job queue on PostgreSQL, used as its documentation recommends. */

export interface QueueOptions {
	/** An empty database, or one that this queue has used. */
	url: string;
	/** Jobs that run at the same time. */
	workers: number;
	/** Runs a job; it is completed when this resolves. */
	work: (data: JobData) => Promise<void>;
}

export interface JobData {
	enqueuedAt: number;
	padding: string;
}

export interface Queue {
	version: string;
	/** Adds jobs in one call, durable when it resolves. */
	insert(jobs: readonly JobData[]): Promise<void>;
	/** Jobs that wait. */
	depth(): Promise<number>;
	stop(): Promise<void>;
}
