/**
 * The job as every layer knows it: one flat record, without its payloads. Times are ms since the
 * epoch.
 */
import type { JobState } from "./job-states.ts";

/** Which operation made the job; it decides the default retention of the result (spec 3 rule 2). */
export type Operation = "run" | "runsync" | "openai";

/** A job without `input`, `output` and chunks, which are JSON text kept apart (D5). */
export interface Job {
	id: string;
	endpoint: string;
	operation: Operation;
	/** Taken after the others and left out of scaling (D20). */
	lowPriority: boolean;
	state: JobState;
	/** When it was submitted. */
	submittedAt: number;
	/** When its present or last wait in the queue began. */
	queuedAt: number;
	/** When its last attempt began; absent while it waits. */
	startedAt?: number | undefined;
	/** When it reached its final state. */
	endedAt?: number | undefined;
	/** Number of its last attempt, 0 before the first; never restarts (D16). */
	attempt: number;
	/** The worker of the last attempt; absent while it waits. */
	worker?: string | undefined;
	/** Attempts lost since submission or the last retry (D16). */
	losses: number;
	/** Returns to the queue by loss or by `/retry`: `retries` in answers (D6, D13). */
	returns: number;
	/** Successive pings of its worker that did not name it (D16). */
	missed: number;
	/** Longest wait in the queue, ms (`policy.ttl`). */
	ttlMs: number;
	/** Longest run, ms (`policy.executionTimeout`). */
	executionTimeoutMs: number;
	/** Length of a lease, ms. */
	leaseMs: number;
	/** When the lease of the running attempt ends. */
	leaseUntil?: number | undefined;
	/** How long the result is kept after the end, ms (D9). */
	retainMs: number;
	/** How long the record without payload is kept after the end, ms (D9). */
	recordMs: number;
	/** Payloads are gone; only `/v1` still knows the job (D9). */
	erased: boolean;
	/** The next moment at which something happens to it by itself: see `dueEvent`. */
	dueAt: number;
	/** Where the completion webhook goes (spec 6). */
	webhook?: string | undefined;
	/** `s3Config`, sealed; opened only on its way to the worker (D22). */
	s3Config?: string | undefined;
}

/** What a submission fixes; everything else of a {@link Job} follows from it by {@link newJob}. */
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

/** A fresh job, waiting since `now`. */
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

/** How an attempt ended: the word the record keeps. */
export type AttemptEnd = "completed" | "failed" | "lost" | "released" | "timed_out" | "cancelled";

/** One attempt that is no longer the job's current one. */
export interface Attempt {
	attempt: number;
	worker: string;
	startedAt: number;
	endedAt: number;
	end: AttemptEnd;
	/**
	 * The worker may still be running it: it must not get the job again before this is false (D16
	 * Fence).
	 */
	open: boolean;
	/** Successive pings of that worker that did not name the job. */
	missed: number;
	/** It was over with its worker's process, not by the worker's word. */
	killed?: boolean;
}
