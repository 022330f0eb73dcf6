/**
 * A job as one flat record. Times are ms since the epoch. A new member needs an entry in `store/job-columns.ts`,
 * without which it does not compile, and a migration of each database. `newJob` here or an event in
 * `job-transitions.ts` sets it; `job-view.ts` and `api/jobs.ts` show it.
 */
import { type Random, uuidv7 } from "../../lib/ids.ts";
import type { JobState } from "./job-states.ts";

/** Decides the default retention (spec 3 rule 2). */
export type Operation = "run" | "runsync" | "openai";

/** `input`, `output` and chunks are stored separately as JSON text (D5). */
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
	/** Absent while waiting. */
	startedAt?: number | undefined;
	endedAt?: number | undefined;
	/** Time of the last `/retry`. */
	retriedAt?: number | undefined;
	/** Number of the attempt: 0 before the first, never reset (D16). */
	attempt: number;
	/** Absent while waiting. */
	worker?: string | undefined;
	/** Version of the release that launched the worker (D50); absent for workers that were started elsewhere. */
	release?: number | undefined;
	/** Losses since submission or the last retry (D16). */
	losses: number;
	/** `retries` in responses: by loss or `/retry` (D6, D13). */
	returns: number;
	/** Number of the run, which only `/retry` raises (D55). Absent: 1. */
	run?: number | undefined;
	/**
	 * 0: the attempt has just started, or the last ping named the job. Positive: 1 + ms from the start of the attempt to
	 * the first ping of the current series without it (D16).
	 */
	missed: number;
	/** Time of a take that reported nothing in progress, if no ping came after it (D16). */
	deniedAt?: number | undefined;
	/** `policy.ttl`: maximum wait in the queue. */
	ttlMs: number;
	/** `policy.executionTimeout`. */
	executionTimeoutMs: number;
	leaseMs: number;
	leaseUntil?: number | undefined;
	/** Retention of the result after the end (D9). */
	retainMs: number;
	/** Keeps the record without payloads after the end (D9). */
	recordMs: number;
	/** Payloads are erased; only `/v1` still returns the job (D9). */
	erased: boolean;
	/** Time of the next `dueEvent`. */
	dueAt: number;
	/** URL (spec 6). */
	webhook?: string | undefined;
	/** Encrypted; decrypted only for the worker (D22). */
	s3Config?: string | undefined;
	/** `X-Request-Id` of the submission. */
	requestId?: string | undefined;
	/** `traceparent` of the submission, with `tracestate` after a space. */
	trace?: string | undefined;
}

/** Members of a new job; {@link newJob} adds the rest. */
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
	| "requestId"
	| "trace"
>;

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
	/** See `Job`. */
	missed: number;
	/** The last call after its start that showed that it ran, with no omission since. */
	signAt?: number | undefined;
	/** Whether the end of the worker's process ended the attempt, not a report. */
	killed?: boolean;
	/** Whether its worker gave the job back (D54). `end` is then "released", or "lost" if that counts as a loss. */
	returned?: boolean;
	/** Why the worker ended the attempt: see `exitPhrase`; or why it could not begin it, or gave it back. */
	workerEnd?: string;
}

/** Returns the number of the run, 1 for the first (D55). */
export function runOf({ run = 1 }: Pick<Job, "run">): number {
	return run;
}

/** UUIDv7, prefixed with `sync-` for `/runsync` (D6). */
export function jobId(operation: Operation, now: number, random: Random): string {
	const id = uuidv7(now, random);
	return operation === "runsync" ? `sync-${id}` : id;
}

/** Id of the warm-up of a worker, which is in no store (D28). */
export function warmupId(worker: string): string {
	return `warmup-${worker}`;
}

/** Whether a text can be the id of a job; others need no lookup in the store. */
export function isJobId(id: string): boolean {
	return /^[a-zA-Z0-9_-]{1,80}$/.test(id);
}
