/** Jobs in the store's contract. The rules of the contract: store.ts. */
import type { Attempt, Job, Submission } from "../../core/job.ts";
import type { JobState } from "../../core/job-states.ts";
import type { Counts } from "../../core/job-transitions.ts";
import type { JobResult } from "../../core/job-view.ts";
import type { JsonText } from "../../core/json/json-text.ts";

/** The answer of a compare-and-set: the job after it, or why it was refused. */
export type MoveResult =
	| { ok: true; job: Job }
	| { ok: false; why: "missing" | "state" | "stale"; state?: JobState };

/** The queue bound refuses one more waiting job. */
export interface QueueFull {
	ok: false;
	why: "full";
	state?: never;
}

/** A client's key under which a submission happens once (D14), per endpoint and operation. */
export interface Idempotency {
	key: string;
	/** SHA-256 of the body's bytes, hex. */
	bodyHash: string;
	/** How long the key is remembered, ms. */
	keptMs: number;
}

/**
 * The job of a submission, new or from an earlier submission under the same key, or why there is
 * none. `state` of an expired one is its last; absent when nothing of it is left.
 */
export type InsertResult =
	| { ok: true; job: Job; repeated?: true }
	| QueueFull
	| { ok: false; why: "key_reused" }
	| { ok: false; why: "key_expired"; state?: JobState };

/** Which jobs a list holds; an absent member filters nothing. */
export interface JobFilter {
	states?: readonly JobState[] | undefined;
	/** Worker of the present or last attempt. */
	worker?: string | undefined;
	/** Submitted at or after, ms since the epoch. */
	from?: number | undefined;
	/** Submitted before, ms since the epoch. */
	to?: number | undefined;
}

/** Everything stored of one job, but for its chunks. */
export interface JobRecord extends JobResult {
	/** Absent when erased. */
	input?: JsonText | undefined;
	/** As in {@link JobStore.attempts}. */
	attempts: Attempt[];
	/** Numbers of the next chunk to be written and of the next to be delivered. */
	chunks: { written: number; delivered: number };
}

/** A job that a claim gives to a worker. */
export interface Claimed {
	job: Job;
	input: JsonText;
}

/**
 * The jobs of a claim. `fenced`: waiting ones were skipped because this worker may still run an old
 * attempt of them (D16 Fence).
 */
export interface Claim {
	jobs: Claimed[];
	fenced: boolean;
}

/** The end of a job as its worker reports it. */
export interface Outcome {
	on: "complete" | "fail";
	output?: JsonText | undefined;
	error?: string | undefined;
}

/** A running job, from which a server rebuilds its view of workers after a start. */
export interface Running {
	endpoint: string;
	id: string;
	worker: string;
	attempt: number;
	startedAt: number;
}

export interface JobStore {
	/**
	 * Adds a job at the back of its queue; the store owns the blocks of a large input from then on.
	 * `full` when more than `queueBound` jobs wait already (D23). A known key decides before the
	 * bound, and is stored only with the job that it made.
	 */
	insert(q: {
		submission: Submission;
		input: JsonText;
		now: number;
		queueBound?: number | undefined;
		idempotency?: Idempotency | undefined;
	}): Promise<InsertResult>;
	/** The job with its texts; `output` is the latest progress value while it runs (D6). */
	get(q: { endpoint: string; id: string; now: number }): Promise<JobResult | undefined>;
	/** Counts of an endpoint (D13); zeros for an endpoint without jobs. */
	counts(q: { endpoint: string; now: number }): Promise<Counts>;
	/** Counts of every endpoint that ever had a job. */
	allCounts(q: { now: number }): Promise<{ endpoint: string; counts: Counts }[]>;
	/** Waiting jobs, but for those of low priority, and since when the oldest waits (D20, D27). */
	waiting(q: { endpoint: string; now: number }): Promise<{ jobs: number; oldestQueuedAt?: number }>;
	/**
	 * Gives up to `limit` jobs to a worker, oldest first, low priority last, their inputs together at
	 * most `maxBytes` characters (but at least one job). Skips lapsed jobs and those fenced from this
	 * worker.
	 */
	claim(q: {
		endpoint: string;
		worker: string;
		limit: number;
		maxBytes: number;
		now: number;
	}): Promise<Claim>;
	/**
	 * Ends a job with its worker's report. `stale` when the worker does not hold the job; its old
	 * attempt is then known to be over. `missing` when the worker never held it.
	 */
	report(q: {
		endpoint: string;
		id: string;
		worker: string;
		outcome: Outcome;
		now: number;
	}): Promise<MoveResult>;
	/** Stores a progress value and renews the lease. False when the worker does not hold the job. */
	progress(q: {
		endpoint: string;
		id: string;
		worker: string;
		value: JsonText;
		now: number;
	}): Promise<boolean>;
	/**
	 * Applies one event. `release` and `lose` name their attempt; another one is `stale`. `over`: the
	 * attempt is known to have ended at its worker. `queueBound` bounds a `retry` as an `insert`.
	 */
	move(q: {
		endpoint: string;
		id: string;
		on: "cancel" | "release" | "lose" | "retry";
		attempt?: number;
		over?: boolean;
		queueBound?: number | undefined;
		now: number;
	}): Promise<MoveResult | QueueFull>;
	/**
	 * Shortens the retention of a result to at most `retainMs` from its end, never lengthens it (D9).
	 * Answers as {@link JobStore.get}, for the last time when that moment has passed.
	 */
	retain(q: {
		endpoint: string;
		id: string;
		retainMs: number;
		now: number;
	}): Promise<JobResult | undefined>;
	/**
	 * Removes every waiting job of the endpoint in one step and returns their number (D11). They are
	 * missing to every method from then on; `settle` removes their rows. Signals `purged`.
	 */
	purge(q: { endpoint: string; now: number }): Promise<number>;
	/** Cancels up to `limit` waiting or running jobs, announced as signals. `left`: there are more. */
	cancelAll(q: {
		endpoint: string;
		limit: number;
		now: number;
	}): Promise<{ cancelled: number; left: boolean }>;
	/**
	 * Jobs of an endpoint without outputs, the last submitted first, after `cursor`; with `erased`
	 * also erased ones. While `next` is present there may be more: a page may end early, even empty,
	 * after many jobs that do not fit the filter or very long errors.
	 */
	list(q: {
		endpoint: string;
		filter: JobFilter;
		erased: boolean;
		cursor?: string | undefined;
		limit: number;
		now: number;
	}): Promise<{ jobs: JobResult[]; next?: string | undefined }>;
	/** Everything stored of a job, erased or not. */
	record(q: { endpoint: string; id: string; now: number }): Promise<JobRecord | undefined>;
	/**
	 * Settles up to `limit` jobs whose deadlines have passed, announced as signals, and removes as
	 * many rows of purged jobs and expired idempotency keys. `nextDueAt` is absent when nothing is
	 * left to come.
	 */
	settle(q: {
		now: number;
		limit: number;
	}): Promise<{ settled: number; nextDueAt?: number | undefined }>;
	/**
	 * Extends every running lease to at least one full lease from `now` and forgets missed pings (D16
	 * Outages). Calls after it find that done.
	 */
	extendAll(q: { now: number }): Promise<void>;
	/** All running jobs. */
	running(): Promise<Running[]>;
	/** Cancelled or overrun attempts that are not known to have ended at their workers (D18). */
	unstopped(): Promise<{ endpoint: string; id: string; worker: string }[]>;
	/**
	 * Attempts of a job that did not end by a report or were replaced by a retry, oldest first;
	 * erased jobs included. The last may be the job's own, if it was cancelled, overran or failed by
	 * losses.
	 */
	attempts(q: { endpoint: string; id: string }): Promise<Attempt[]>;
}
