/** Jobs in the store's contract; rules: store.ts. */
import type { Attempt, Job, Submission } from "../../core/job.ts";
import type { JobState } from "../../core/job-states.ts";
import type { Counts } from "../../core/job-transitions.ts";
import type { JobResult } from "../../core/job-view.ts";
import type { JsonText } from "../../core/json/json-text.ts";

/** The answer of a compare-and-set: the job after it, or why it was refused. */
export type MoveResult = { ok: true; job: Job } | { ok: false; why: "missing" | "state" | "stale"; state?: JobState };

/** The queue bound refuses one more waiting job. */
export interface QueueFull {
	ok: false;
	why: "full";
	state?: never;
}

/** A client's key for one submission (D14), per endpoint and operation. */
export interface Idempotency {
	key: string;
	/** SHA-256 of the body's bytes, hex. */
	bodyHash: string;
	/** Retention of the key, ms. */
	keptMs: number;
}

/**
 * The job of a submission, new or from an earlier one under the same key, or why there is none.
 * `state` of an expired job is its last; absent when nothing of it is stored.
 */
export type InsertResult =
	| { ok: true; job: Job; repeated?: true }
	| QueueFull
	| { ok: false; why: "stored"; stored: number }
	| { ok: false; why: "key_reused" }
	| { ok: false; why: "key_expired"; state?: JobState };

/** Filter of a list; an absent member filters nothing. */
export interface JobFilter {
	states?: readonly JobState[] | undefined;
	/** Worker of the current or last attempt. */
	worker?: string | undefined;
	/** Submitted at or after, ms since the epoch. */
	from?: number | undefined;
	/** Submitted before, ms since the epoch. */
	to?: number | undefined;
}

/** A job in a list. */
export interface ListedJob extends JobResult {
	/** The first characters of the input, where they were asked for. */
	inputHead?: JsonText | undefined;
}

/** A page of a list. */
export interface JobPage {
	jobs: ListedJob[];
	/** There may be more. */
	next?: string | undefined;
	/** Submission of the last job that it read. */
	searchedTo?: number;
	/** How many jobs match the filter, of the newest ones; `more`: older ones were not counted. */
	matching?: { count: number; more: boolean };
}

/** Everything stored of one job, except its chunks. */
export interface JobRecord extends JobResult {
	/** Absent when erased. */
	input?: JsonText | undefined;
	/** Same as in {@link JobStore.attempts}. */
	attempts: Attempt[];
	/** Numbers of the next chunk to be written and to be delivered. */
	chunks: { written: number; delivered: number };
}

/** A job that a claim gives to a worker. */
export interface Claimed {
	job: Job;
	/** Undefined with `damage`. */
	input: JsonText | undefined;
	/** Why the stored input cannot be read, for the log. Such a job must fail. */
	damage?: string | undefined;
}

/**
 * The jobs of a claim. `fenced`: waiting jobs were skipped because this worker may still run an old
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
	 * Adds a job at the back of its queue; the store then owns the blocks of a large input. `full`
	 * when more than `queueBound` jobs already wait (D23), `stored` when the endpoint's jobs would have
	 * more than `storedBound` bytes of inputs, results and chunks (D43). A known key is checked before
	 * the bounds, and is stored only with the job that it created. `sent` is called when claims that
	 * begin later find the job.
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
	 * The job with its texts; `output` is the latest progress value while it runs (D6). With `large:
	 * "size"` an output of `LARGE_BYTES` or more is not read, only its size (D41).
	 */
	get(q: { endpoint: string; id: string; now: number; large?: "size" }): Promise<JobResult | undefined>;
	/** Counts of an endpoint (D13); zeros for an endpoint without jobs. */
	counts(q: { endpoint: string; now: number }): Promise<Counts>;
	/** Counts of every endpoint that ever had a job. */
	allCounts(q: { now: number }): Promise<{ endpoint: string; counts: Counts }[]>;
	/** Inputs, results and chunks of each endpoint's jobs, bytes (D43). */
	stored(): Promise<{ endpoint: string; bytes: number }[]>;
	/** Waiting jobs, except low priority, and since when the oldest waits (D20, D27). */
	waiting(q: { endpoint: string; now: number }): Promise<{ jobs: number; oldestQueuedAt?: number }>;
	/**
	 * Gives up to `limit` jobs to a worker, in queue order, low priority last, with inputs of at most
	 * `maxBytes` characters in total (but at least one job). Skips lapsed jobs and those fenced from
	 * this worker.
	 */
	claim(q: { endpoint: string; worker: string; limit: number; maxBytes: number; now: number }): Promise<Claim>;
	/**
	 * Ends a job with its worker's report. `stale` when the worker does not hold the job; its old
	 * attempt is then known to have ended. `missing` when the worker never held it.
	 */
	report(q: { endpoint: string; id: string; worker: string; outcome: Outcome; now: number }): Promise<MoveResult>;
	/** Stores a progress value and renews the lease. False when the worker does not hold the job. */
	progress(q: { endpoint: string; id: string; worker: string; value: JsonText; now: number }): Promise<boolean>;
	/**
	 * Applies one event. `release` and `lose` name their attempt; another one is `stale`. `over`: the
	 * attempt is known to have ended at its worker. `queueBound` bounds a `retry` like an `insert`.
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
	 * Answers like {@link JobStore.get}, for the last time when that moment has passed.
	 */
	retain(q: { endpoint: string; id: string; retainMs: number; now: number }): Promise<JobResult | undefined>;
	/**
	 * Removes every waiting job of the endpoint in one step and returns their number (D11). They are
	 * missing to every method from then on; `settle` removes their rows. Signals `purged`.
	 */
	purge(q: { endpoint: string; now: number }): Promise<number>;
	/** Cancels up to `limit` waiting or running jobs and signals each. `left`: there are more. */
	cancelAll(q: { endpoint: string; limit: number; now: number }): Promise<{ cancelled: number; left: boolean }>;
	/**
	 * Jobs of an endpoint without outputs, newest first, after `cursor`; with `erased` also erased
	 * ones. While `next` is present there may be more: a page may end early, even empty, after many
	 * jobs that do not match the filter or very long errors. `search`: only jobs with this text in
	 * their id, worker, error or input (`operations/list.ts`); a page of a search reads less. `heads`:
	 * with the first characters of inputs. `count`: also counts what matches, search apart.
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
	/** Everything stored of a job, erased or not. */
	record(q: { endpoint: string; id: string; now: number }): Promise<JobRecord | undefined>;
	/**
	 * Settles up to `limit` jobs with passed deadlines, live ones first, and signals each; removes as
	 * many rows of purged jobs and expired idempotency keys. `nextDueAt` is absent when nothing more is
	 * due. With `expiries` at most so many results and records are removed, and the oldest one that is
	 * left is not in `nextDueAt` but in `expiryDueAt`.
	 */
	settle(q: { now: number; limit: number; expiries?: number }): Promise<{
		settled: number;
		nextDueAt?: number | undefined;
		expiryDueAt?: number | undefined;
	}>;
	/**
	 * Extends every running lease to at least one full lease from `now` and resets missed pings (D16
	 * Outages). Later calls see this done.
	 */
	extendAll(q: { now: number }): Promise<void>;
	/** All running jobs. */
	running(): Promise<Running[]>;
	/** Cancelled or overrun attempts that are not known to have ended at their workers (D18). */
	unstopped(): Promise<{ endpoint: string; id: string; worker: string }[]>;
	/**
	 * Attempts of a job that did not end by a report or were replaced by a retry, oldest first; also
	 * of erased jobs. The last may be the job's own if it was cancelled, overran or failed by losses.
	 */
	attempts(q: { endpoint: string; id: string }): Promise<Attempt[]>;
}
