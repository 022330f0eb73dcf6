import type { Attempt, Job, Submission } from "../../core/jobs/job.ts";
import type { JobState } from "../../core/jobs/job-states.ts";
import type { Counts } from "../../core/jobs/job-transitions.ts";
import type { JobResult } from "../../core/jobs/job-view.ts";
import type { JsonText } from "../../lib/json/json-text.ts";

/**
 * The result of an event. `late`: the report was about a lost attempt, and no worker had been given the job since (D16
 * Late reports). `lost`: a return counted as a loss (D54).
 */
export type MoveResult =
	| { ok: true; job: Job; late?: true; lost?: true }
	| { ok: false; why: "missing" | "state" | "stale"; state?: JobState };

export interface QueueFull {
	ok: false;
	why: "full";
	state?: never;
}

/** A client's key for one submission (D14). */
export interface Idempotency {
	key: string;
	/** SHA-256 of the body's bytes, hex. */
	bodyHash: string;
	/** Retention of the key, ms. */
	keptMs: number;
}

/**
 * The job of a submission, new or from an earlier one under the same key. `state` of an expired job is its last; absent
 * when nothing of it is stored.
 */
export type InsertResult =
	| { ok: true; job: Job; repeated?: true }
	| QueueFull
	| { ok: false; why: "stored"; stored: number }
	| { ok: false; why: "key_reused" }
	| { ok: false; why: "key_expired"; state?: JobState };

export interface JobFilter {
	states?: readonly JobState[] | undefined;
	/** Worker of the current or last attempt. */
	worker?: string | undefined;
	/** Ms since the epoch, included. */
	from?: number | undefined;
	/** Ms since the epoch, excluded. */
	to?: number | undefined;
}

export interface ListedJob extends JobResult {
	inputHead?: JsonText | undefined;
}

export interface JobPage {
	jobs: ListedJob[];
	next?: string | undefined;
	/** Submission of the last job that it read. */
	searchedTo?: number;
	/** Jobs that match the filter, of the newest ones; `more`: older ones were not counted. */
	matching?: { count: number; more: boolean };
}

export interface JobRecord extends JobResult {
	/** Input of the job; absent when it was erased. */
	input?: JsonText | undefined;
	/** Size of a large input that was not read. */
	inputBytes?: number;
	attempts: Attempt[];
	/** Numbers of the next chunk to be written and to be delivered. */
	chunks: { written: number; delivered: number };
}

export interface Claimed {
	job: Job;
	/** Input of the job; undefined with `damage`. */
	input: JsonText | undefined;
	/** Why the stored input cannot be read. Such a job must fail. */
	damage?: string | undefined;
}

/**
 * The result of a claim. `fenced`: jobs were skipped because this worker may still run an old attempt of them (D16
 * Fence), or because their payload file cannot be read at present.
 */
export interface Claim {
	jobs: Claimed[];
	fenced: boolean;
}

export interface Outcome {
	/**
	 * - `release`: the worker never began this `attempt`, as `workerEnd` says. The queue deadline stays.
	 * - `return`, `lose`: the worker gives the job back without or with a loss, as `workerEnd` says (D54). Without
	 *   `attempt` it is about whichever attempt the worker has. The queue deadline stays unless a loss is counted.
	 */
	on: "complete" | "fail" | "release" | "return" | "lose";
	attempt?: number | undefined;
	output?: JsonText | undefined;
	error?: string | undefined;
	workerEnd?: string;
}

export interface Running {
	endpoint: string;
	id: string;
	worker: string;
	attempt: number;
	startedAt: number;
}

export interface JobStore {
	/**
	 * Stores a job. The store owns the blocks of a large input afterwards. `full`: more than `queueBound` jobs already
	 * wait (D23). `stored`: the endpoint's jobs would have more than `storedBound` bytes (D43). A known key is checked
	 * before the bounds and stored only with a job. `sent` is called once claims that begin later find the job.
	 */
	insert(q: {
		submission: Submission;
		input: JsonText;
		now: number;
		queueBound?: number | undefined;
		storedBound?: number | undefined;
		idempotency?: Idempotency | undefined;
		sent?: () => void;
	}): Promise<InsertResult>;
	/**
	 * Reads a job. `output` is the latest progress value of a running job (D6). `large: "size"`: for an output of
	 * `LARGE_BYTES` or more only the size is read (D41).
	 */
	get(q: { endpoint: string; id: string; now: number; large?: "size" }): Promise<JobResult | undefined>;
	/** Counts the jobs of an endpoint; zeros without jobs (D13). */
	counts(q: { endpoint: string; now: number }): Promise<Counts>;
	allCounts(q: { now: number }): Promise<{ endpoint: string; counts: Counts }[]>;
	/** Returns the bytes of inputs, results and chunks of each endpoint's jobs (D43). */
	stored(): Promise<{ endpoint: string; bytes: number }[]>;
	/** Returns when the oldest waiting job of each endpoint was queued, except low priority. */
	oldestWaiting(q: { now: number }): Promise<{ endpoint: string; queuedAt: number }[]>;
	/** Returns the number of waiting jobs, except low priority, and since when the oldest waits (D20, D27). */
	waiting(q: { endpoint: string; now: number }): Promise<{ jobs: number; oldestQueuedAt?: number }>;
	/**
	 * Claims jobs in queue order, low priority last. The inputs have at most `maxBytes` characters in total, unless there
	 * is only one. Skips lapsed jobs, those fenced from this worker, and those whose input is in one of the payload files
	 * `without`. `release`: the version that launched the worker (D50).
	 */
	claim(q: {
		endpoint: string;
		worker: string;
		release?: number | undefined;
		limit: number;
		maxBytes: number;
		now: number;
		without?: readonly number[] | undefined;
	}): Promise<Claim>;
	/**
	 * Reports a result or failure. `stale`: the worker does not hold the job; its old attempt is then known to have
	 * ended. `missing`: it never held it. A lost attempt is continued by a report, a progress value or a chunk if no
	 * worker was given the job since, under the `release` that launched the worker.
	 */
	report(q: {
		endpoint: string;
		id: string;
		worker: string;
		release?: number | undefined;
		outcome: Outcome;
		now: number;
	}): Promise<MoveResult>;
	/** Stores a progress value and renews the lease. False when the worker does not hold the job. */
	progress(q: {
		endpoint: string;
		id: string;
		worker: string;
		release?: number | undefined;
		value: JsonText;
		now: number;
	}): Promise<boolean>;
	/**
	 * Renews the lease of a job if the worker holds it, as a ping that names it does: the job shows a sign that it runs
	 * there.
	 */
	renew(q: { endpoint: string; id: string; worker: string; now: number }): Promise<void>;
	/**
	 * Applies an event. `release` and `lose` name their attempt; another one is `stale`. `over`: the attempt is known to
	 * have ended at its worker. `queueBound` bounds a `retry` like an `insert`.
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
	 * Shortens the retention of a result to at most `retainMs` from its end, never lengthens it (D9). Answers like
	 * {@link JobStore.get}, also if that moment has just passed.
	 */
	retain(q: { endpoint: string; id: string; retainMs: number; now: number }): Promise<JobResult | undefined>;
	/**
	 * Removes every waiting job of the endpoint in one step and returns their number (D11). `settle` removes their rows.
	 * Signals `purged`.
	 */
	purge(q: { endpoint: string; now: number }): Promise<number>;
	/** Cancels up to `limit` jobs of an endpoint. `left`: there are more. */
	cancelAll(q: { endpoint: string; limit: number; now: number }): Promise<{ cancelled: number; left: boolean }>;
	/**
	 * Lists jobs without outputs, newest first. While `next` is present there may be more: a page may end early, even
	 * empty. `search`: only jobs with this text in their id, worker, error or input. `heads`: with the first characters
	 * of inputs. `count`: also counts the jobs that match the filter.
	 */
	list(q: {
		endpoint: string;
		filter: JobFilter;
		erased: boolean;
		search?: string | undefined;
		heads?: boolean;
		count?: boolean;
		cursor?: string | undefined;
		limit: number;
		now: number;
	}): Promise<JobPage>;
	/** `large: "size"`: of an input or output of `LARGE_BYTES` or more only the size is read (D41). */
	record(q: { endpoint: string; id: string; now: number; large?: "size" }): Promise<JobRecord | undefined>;
	/**
	 * Settles up to `limit` jobs with passed deadlines, live ones first, and signals each; removes as many rows of purged
	 * jobs and expired idempotency keys. With `expiries` at most that many results and records are removed, and the next
	 * one is in `expiryDueAt` instead of `nextDueAt`.
	 */
	settle(q: { now: number; limit: number; expiries?: number }): Promise<{
		settled: number;
		nextDueAt?: number | undefined;
		expiryDueAt?: number | undefined;
	}>;
	/** Extends every running lease to at least one full lease from `now` and resets missed pings (D16 Outages). */
	extendAll(q: { now: number }): Promise<void>;
	running(): Promise<Running[]>;
	/** Returns cancelled or overrun attempts that are not known to have ended at their workers (D18). */
	unstopped(): Promise<{ endpoint: string; id: string; worker: string }[]>;
	/**
	 * Returns the attempts that did not end by a report or were replaced by a retry, oldest first; also of erased jobs.
	 * The last may be the job's own if it was cancelled, overran or failed by losses.
	 */
	attempts(q: { endpoint: string; id: string }): Promise<Attempt[]>;
}

/** Chunk texts from number `from`, and the state of their job. */
export interface ChunkRead {
	state: JobState;
	from: number;
	/** Number of the first chunk after this answer. */
	next: number;
	/** JSON texts of chunk objects, `{"output":…,"metrics":…}`. */
	chunks: string[];
	more: boolean;
	/** Another reader holds a reservation: no chunk can be delivered now (D7 Delivery). */
	busy?: true;
}

export interface ChunkStore {
	/**
	 * Adds chunks in order and renews the lease. `stale`: the worker does not hold the job, or not the attempt that it
	 * names; `missing`: it never held the job. `unlessLast`: chunks equal to the last stored ones are dropped as a
	 * repeat. `full`: the job would have more than `bound`. `from`: number of the first chunk, unless `repeat`.
	 */
	append(q: {
		endpoint: string;
		id: string;
		worker: string;
		release?: number | undefined;
		/** The attempt as the worker was given it; undefined: the worker does not say. */
		attempt?: number | undefined;
		chunks: readonly string[];
		unlessLast: boolean;
		bound?: { bytes: number; chunks: number } | undefined;
		now: number;
	}): Promise<
		{ ok: true; repeat: boolean; from: number; attempt: number } | { ok: false; why: "missing" | "stale" | "full" }
	>;
	/** Reads chunks and does not move the cursor. Undefined for an unknown job. */
	read(q: {
		endpoint: string;
		id: string;
		from: number;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/**
	 * Reserves the undelivered chunks for `reader`, if there are any. While another reader holds a reservation, the
	 * answer is empty and `busy`, with `next` at its start.
	 */
	reserve(q: {
		endpoint: string;
		id: string;
		reader: string;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/** Ends a reservation. With `delivered` the cursor moves; otherwise the range is free again. */
	deliver(q: { endpoint: string; id: string; reader: string; delivered: boolean }): Promise<void>;
}
