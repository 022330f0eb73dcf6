/** A job as one flat record, used by all layers. Times are ms since the epoch. */
import type { JobState } from "./job-states.ts";

/** How the job was submitted; decides the default retention (spec 3 rule 2). */
export type Operation = "run" | "runsync" | "openai";

/** A job without `input`, `output` and chunks, which are stored separately as JSON text (D5). */
export interface Job {
	id: string;
	endpoint: string;
	operation: Operation;
	/** Taken after other jobs; ignored by autoscaling (D20). */
	lowPriority: boolean;
	state: JobState;
	submittedAt: number;
	/** Start of the current or last wait in the queue. */
	queuedAt: number;
	/** Start of the last attempt; absent while waiting. */
	startedAt?: number | undefined;
	endedAt?: number | undefined;
	/** Number of the last attempt, 0 before the first; never reset (D16). */
	attempt: number;
	/** Worker of the last attempt; absent while waiting. */
	worker?: string | undefined;
	/** Attempts lost since submission or the last retry (D16). */
	losses: number;
	/** Returns to the queue by loss or `/retry`: `retries` in responses (D6, D13). */
	returns: number;
	/** Consecutive pings of its worker without this job (D16). */
	missed: number;
	/** Maximum wait in the queue (`policy.ttl`). */
	ttlMs: number;
	/** Maximum run (`policy.executionTimeout`). */
	executionTimeoutMs: number;
	leaseMs: number;
	/** Lease end of the running attempt. */
	leaseUntil?: number | undefined;
	/** Retention of the result after the end (D9). */
	retainMs: number;
	/** Retention of the record without payloads after the end (D9). */
	recordMs: number;
	/** Payloads are erased; only `/v1` still returns the job (D9). */
	erased: boolean;
	/** Time of the next `dueEvent`. */
	dueAt: number;
	/** Completion webhook URL (spec 6). */
	webhook?: string | undefined;
	/** `s3Config`, encrypted; decrypted only for the worker (D22). */
	s3Config?: string | undefined;
}

/** What a submission sets; {@link newJob} adds the rest. */
export type Submission = Pick<
	Job,
	| "id"
	| "endpoint"
	| "operation"
	| "lowPriority"
	| "ttlMs"
	| "executionTimeoutMs"
	| "leaseMs"
	| "retainMs"
	| "recordMs"
	| "webhook"
	| "s3Config"
>;

/** A new job, waiting since `now`. */
export function newJob(submission: Submission, now: number): Job {
	return {
		...submission,
		state: "IN_QUEUE",
		submittedAt: now,
		queuedAt: now,
		attempt: 0,
		losses: 0,
		returns: 0,
		missed: 0,
		erased: false,
		dueAt: now + submission.ttlMs,
	};
}

/** How an attempt ended. */
export type AttemptEnd = "completed" | "failed" | "lost" | "released" | "timed_out" | "cancelled";

/** An attempt that is not the job's current one. */
export interface Attempt {
	attempt: number;
	worker: string;
	startedAt: number;
	endedAt: number;
	end: AttemptEnd;
	/** The worker may still run it and must not get the job again meanwhile (D16 Fence). */
	open: boolean;
	/** Consecutive pings of that worker without the job. */
	missed: number;
	/** Ended by the end of the worker's process, not by the worker's report. */
	killed?: boolean;
	/** How the worker's process ended, if that ended the attempt; see `exitPhrase`. */
	workerEnd?: string;
}
