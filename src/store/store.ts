/**
 * The contract every store keeps. Rules:
 * 1. Each method is one atomic step; no transaction or connection crosses the seam.
 * 2. Time comes in as `now` (ms since the epoch).
 * 3. No rules inside: what an event does to a job comes from `core/life.ts`, everything else as an
 *    argument.
 * 4. Refusals are values; faults are exceptions. A store that cannot write now throws {@link
 *    StoreUnavailable}.
 * 5. Payloads (`input`, `output`, chunks) are opaque JSON text and come back byte for byte (D5):
 *    small ones as strings or as they were given, those of `LARGE_BYTES` and more that were given
 *    as blocks as blocks.
 * 6. A resolved write is on disk (D17). Batching callers into one commit is the dialect's secret;
 *    claims of a batch run after its inserts, so that both can share one commit.
 * 7. Deadlines hold without the sweeper (D15): a method that moves a job first settles what has
 *    passed for it (`dueEvent`), in the same step; a method that reads one answers as if that had
 *    been done. An erased job is missing to all methods here, except where a method says otherwise.
 * 8. Signals tell what a caller cannot know from its own answers: moves made in passing, and those
 *    of other servers. They are hints: possibly lost or doubled, ids only.
 */
import type { Attempt, Job, Submission } from "../core/job.ts";
import type { DeliveryState, DeliveryTry } from "../core/delivery.ts";
import type { Counts } from "../core/job-transitions.ts";
import type { JsonText } from "../core/json/json-text.ts";
import type { JobState } from "../core/job-states.ts";
import type { JobResult } from "../core/job-view.ts";
import type { ClusterStore } from "./cluster-contract.ts";
import type { LimitStore } from "./limits-contract.ts";
import type { MetricsStore } from "./metrics-contract.ts";

/** Why a store takes nothing now. `busy`: it is there, but others were in the way for too long. */
type Unavailable = "full" | "closed" | "unreachable" | "busy";

/** The store cannot take a write (or anything) now; the same call may succeed later. */
export class StoreUnavailable extends Error {
	readonly why: Unavailable;
	/**
	 * It is not known whether this very call was done: its answer was lost, and the store could not
	 * be asked.
	 */
	readonly unsure: boolean;
	constructor(
		why: Unavailable,
		message: string,
		{ unsure = false, ...options }: ErrorOptions & { unsure?: boolean } = {},
	) {
		super(message, options);
		this.why = why;
		this.unsure = unsure;
	}
}

/**
 * A hint that something happened in passing or elsewhere. `purged`: the waiting jobs of an endpoint
 * are gone. `delivery`: a webhook is due, told for every new one. The last five only come from
 * other servers: chunks of a job were added, or its stream is free again; endpoints, keys or worker
 * tokens were changed; a server came, left or gave up what it led; `lost`: hints may have been
 * missed, whoever waits for one looks by itself.
 */
export type Signal =
	| {
			kind: "queued";
			endpoint: string;
			id: string /** The worker that lost it. */;
			worker?: string | undefined;
	  }
	| { kind: "settled"; endpoint: string; id: string; state: JobState }
	| { kind: "stop"; endpoint: string; id: string; worker: string }
	| { kind: "purged"; endpoint: string }
	| { kind: "delivery" }
	| { kind: "chunks"; endpoint: string; id: string }
	| { kind: "endpoints" }
	| { kind: "keys" }
	| { kind: "servers" }
	| { kind: "lost" };

/** The answer of a compare-and-set: the job after it, or why it was refused. */
export type MoveResult =
	| { ok: true; job: Job }
	| { ok: false; why: "missing" | "state" | "stale"; state?: JobState };

/** A return to the queue that its bound refuses. */
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
 * What became of a submission: the job, new or the one of an earlier submission under the same key,
 * or why there is none. `state` of an expired one is its last, absent when nothing at all is left
 * of it.
 */
export type InsertResult =
	| { ok: true; job: Job; repeated?: true }
	| QueueFull
	| { ok: false; why: "key_reused" }
	| { ok: false; why: "key_expired"; state?: JobState };

/** Which jobs a list holds; absent members let all pass. */
export interface JobFilter {
	states?: readonly JobState[] | undefined;
	/** Worker of the present or last attempt. */
	worker?: string | undefined;
	/** Submitted at or after, ms since the epoch. */
	from?: number | undefined;
	/** Submitted before, ms since the epoch. */
	to?: number | undefined;
}

/** All that is known of one job. */
export interface JobRecord extends JobResult {
	/** Absent when erased. */
	input?: JsonText | undefined;
	/** As in {@link JobStore.attempts}. */
	attempts: Attempt[];
	/** Numbers of the next chunk to be written and of the next to be delivered. */
	chunks: { written: number; delivered: number };
}

/** A job on its way to a worker. */
export interface Claimed {
	job: Job;
	input: JsonText;
}

/**
 * What a claim found: the jobs, and whether waiting ones were passed over because this worker may
 * still run an old attempt of them (D16 Fence).
 */
export interface Claim {
	jobs: Claimed[];
	fenced: boolean;
}

/** What a worker reports as the end of a job. */
export interface Outcome {
	on: "complete" | "fail";
	output?: JsonText | undefined;
	error?: string | undefined;
}

/**
 * What word of a worker's attempts did: jobs that wait again, and jobs whose attempt is now known
 * to be over there without waiting again for it (old attempts, and one that failed by its last
 * loss).
 */
export interface AttemptReconciliation {
	lost: string[];
	over: string[];
}

/** A job that runs, for rebuilding what a server knows of its workers after a start. */
export interface Running {
	endpoint: string;
	id: string;
	worker: string;
	attempt: number;
	startedAt: number;
}

export interface JobStore {
	/**
	 * Adds a job at the back of its queue. The blocks of a large input are the store's from then on.
	 * `full` when, before it, more than `queueBound` jobs wait (D23). A key that is known decides
	 * before the bound does, and is kept only with the job that it made.
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
	/** Counts of an endpoint (D13). Zeros for an endpoint without jobs. */
	counts(q: { endpoint: string; now: number }): Promise<Counts>;
	/** Counts of every endpoint that ever had a job. */
	allCounts(q: { now: number }): Promise<{ endpoint: string; counts: Counts }[]>;
	/**
	 * When the oldest job that is not of low priority began to wait, and how many such wait; for
	 * scaling (D20, D27).
	 */
	waiting(q: { endpoint: string; now: number }): Promise<{ jobs: number; oldestQueuedAt?: number }>;
	/**
	 * Hands up to `limit` jobs to a worker, oldest first, low priority last, their inputs together at
	 * most `maxBytes` characters (but at least one job). Skips lapsed ones and those fenced from this
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
	 * The end of a job as its worker tells it. `stale` when the worker does not hold the job (any
	 * more); an old attempt of that worker is then known to be over. `missing` when the worker was
	 * never handed it.
	 */
	report(q: {
		endpoint: string;
		id: string;
		worker: string;
		outcome: Outcome;
		now: number;
	}): Promise<MoveResult>;
	/** Keeps a progress value and renews the lease. False when the worker does not hold the job. */
	progress(q: {
		endpoint: string;
		id: string;
		worker: string;
		value: JsonText;
		now: number;
	}): Promise<boolean>;
	/**
	 * One event from the outside. `release` and `lose` name the attempt they mean, else `stale`.
	 * `over`: the attempt is known to be over at its worker. `queueBound` bounds a `retry` as it does
	 * `insert`.
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
	 * Answers the job as {@link JobStore.get} does; when that moment has passed already, this is the
	 * last time.
	 */
	retain(q: {
		endpoint: string;
		id: string;
		retainMs: number;
		now: number;
	}): Promise<JobResult | undefined>;
	/**
	 * Removes every waiting job of the endpoint at once, whatever their number (D11): from here on
	 * they are missing to every method, their rows go later, by `settle`. Tells how many. Signals
	 * `purged`.
	 */
	purge(q: { endpoint: string; now: number }): Promise<number>;
	/**
	 * Cancels up to `limit` jobs that wait or run, announced as signals. Tells whether any are left.
	 */
	cancelAll(q: {
		endpoint: string;
		limit: number;
		now: number;
	}): Promise<{ cancelled: number; left: boolean }>;
	/**
	 * Jobs of an endpoint without their outputs, the last submitted first, from after `cursor`. With
	 * `erased` also those whose payload is gone. `next` is there while there may be more: a page that
	 * looks at very many jobs which do not fit ends early, possibly empty, and so does one whose
	 * errors are very long.
	 */
	list(q: {
		endpoint: string;
		filter: JobFilter;
		erased: boolean;
		cursor?: string | undefined;
		limit: number;
		now: number;
	}): Promise<{ jobs: JobResult[]; next?: string | undefined }>;
	/** All that is known of a job, erased or not. */
	record(q: { endpoint: string; id: string; now: number }): Promise<JobRecord | undefined>;
	/**
	 * Settles up to `limit` jobs for which something has passed, announced as signals, and removes as
	 * many rows of purged jobs and of old idempotency keys. Tells when the next one is due
	 * (undefined: none).
	 */
	settle(q: {
		now: number;
		limit: number;
	}): Promise<{ settled: number; nextDueAt?: number | undefined }>;
	/**
	 * Extends every running lease to at least one full lease from `now` and forgets missed pings (D16
	 * Outages). Whatever is asked of this store after it finds that done.
	 */
	extendAll(q: { now: number }): Promise<void>;
	/** All running jobs. */
	running(): Promise<Running[]>;
	/**
	 * Runs that were to stop and may still go on at their worker: cancelled or overrun, and not known
	 * to be over (D18).
	 */
	unstopped(): Promise<{ endpoint: string; id: string; worker: string }[]>;
	/**
	 * Attempts of a job that did not end by a report or were replaced by a retry, oldest first;
	 * erased jobs included. The last one may also be the job's own, where it was cancelled, overran
	 * or failed by losses.
	 */
	attempts(q: { endpoint: string; id: string }): Promise<Attempt[]>;
}

/** What a read of a stream gave: chunk texts from number `from`, and where the job stands. */
export interface ChunkRead {
	state: JobState;
	from: number;
	/** Number of the next chunk not in this answer. */
	next: number;
	/** JSON texts of chunk objects, `{"output":…,"metrics":…}`. */
	chunks: string[];
	/** More chunks are there than this answer holds. */
	more: boolean;
	/** Another reader's range is unwritten: nothing can be given now (D7 Delivery). */
	busy?: true;
}

export interface ChunkStore {
	/**
	 * Adds chunks in order and renews the lease. `stale` when the worker does not hold the job,
	 * `missing` when it was never handed it. With `unlessLast` the chunks are dropped as a repeat
	 * when they equal the last ones stored.
	 */
	append(q: {
		endpoint: string;
		id: string;
		worker: string;
		chunks: readonly string[];
		unlessLast: boolean;
		now: number;
	}): Promise<{ ok: true; repeat: boolean } | { ok: false; why: "missing" | "stale" }>;
	/** Chunks from number `from`, moving nothing. Undefined for an unknown job. */
	read(q: {
		endpoint: string;
		id: string;
		from: number;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/**
	 * Reserves the chunks not delivered yet for `reader`. While another reader's range is unwritten
	 * the answer is empty, `busy`, and `next` is where that range begins. An empty range is not
	 * reserved.
	 */
	reserve(q: {
		endpoint: string;
		id: string;
		reader: string;
		maxBytes: number;
		now: number;
	}): Promise<ChunkRead | undefined>;
	/** Ends a reservation: delivered moves the cursor, else the range is free again. */
	deliver(q: { endpoint: string; id: string; reader: string; delivered: boolean }): Promise<void>;
}

/** An endpoint as stored; `settings` is JSON text that the engine reads and writes. */
export interface EndpointRow {
	id: string;
	settings: string;
	/** The webhook secret, sealed. */
	secret?: string | undefined;
	paused: boolean;
	/** It is being deleted: only its jobs and deliveries are still to be ended. */
	removing: boolean;
	createdAt: number;
}

export interface EndpointStore {
	/**
	 * Creates it or replaces its settings; `secret` stays where it is not given, `paused` and
	 * `createdAt` of an existing one stay. One that is being deleted is alive again.
	 */
	put(q: { id: string; settings: string; secret?: string | undefined; now: number }): Promise<void>;
	list(): Promise<EndpointRow[]>;
	/** Sets `paused`. False when there is no such endpoint. */
	pause(q: { id: string; paused: boolean }): Promise<boolean>;
	/** Marks it as being deleted. False when there is no such endpoint. */
	remove(q: { id: string }): Promise<boolean>;
	/**
	 * Removes one marked so, with its counts, worker tokens and metrics, once none of its jobs is
	 * live and no delivery pending. Tells whether it is gone.
	 */
	forget(q: { id: string; now: number }): Promise<boolean>;
}

/** A worker that was launched or has called. */
export interface WorkerRow {
	id: string;
	endpoint: string;
	/** Name of the launcher, `external` for workers started by others. */
	launcher: string;
	/** JSON text of the launcher's handle; absent until it runs. */
	handle?: string | undefined;
	/** Base address it was told to call. */
	url?: string | undefined;
	/** The server that launched it; absent where only one can open the store. */
	server?: string | undefined;
	createdAt: number;
}

export interface WorkerStore {
	/** Adds the worker or replaces its record. */
	put(row: WorkerRow): Promise<void>;
	list(): Promise<WorkerRow[]>;
	remove(q: { id: string }): Promise<void>;
	/**
	 * A ping: renews the leases of the jobs named, counts a miss for the others handed out before
	 * `handedBefore`, takes back those missed {@link MISSED_PINGS} times; the same for its old
	 * attempts, which are then over (D16).
	 */
	ping(q: {
		endpoint: string;
		worker: string;
		named: readonly string[];
		handedBefore: number;
		now: number;
	}): Promise<AttemptReconciliation>;
	/**
	 * Word that the worker runs nothing that was handed out before `before` (a take with
	 * `job_in_progress=0`, or its process is dead): takes back its jobs and ends its old attempts
	 * (D16). `dead`: it is the end of its process that tells.
	 */
	idle(q: {
		endpoint: string;
		worker: string;
		before: number;
		dead?: boolean;
		now: number;
	}): Promise<AttemptReconciliation>;
	/**
	 * Renews the leases of all its running jobs: for a worker that never pinged, by its held polls
	 * (D16).
	 */
	renew(q: { endpoint: string; worker: string; now: number }): Promise<void>;
}

/** A worker's token, by the SHA-256 of it in hex (D26). */
export interface TokenRow {
	hash: string;
	endpoint: string;
	/** The only worker id it is good for; absent for a token of many replicas (D36). */
	worker?: string | undefined;
	createdAt: number;
}

export interface TokenStore {
	put(row: TokenRow): Promise<void>;
	find(q: { hash: string }): Promise<TokenRow | undefined>;
	remove(q: { worker: string }): Promise<void>;
}

/** An API key, by the SHA-256 of it in hex (D30). */
export interface KeyRow {
	id: string;
	hash: string;
	name: string;
	/** `read`, `write`, `admin`. */
	scopes: string[];
	endpoints?: string[] | undefined;
	createdAt: number;
	/** Last use that was noted. */
	lastUsedAt?: number | undefined;
}

export interface KeyStore {
	/** Adds the key; with `ifNone` only when there is no key at all. Tells whether it was added. */
	insert(q: { row: KeyRow; ifNone: boolean }): Promise<boolean>;
	find(q: { hash: string }): Promise<KeyRow | undefined>;
	/** All keys, oldest first. */
	list(): Promise<KeyRow[]>;
	/** Notes a use; an earlier time than the one noted changes nothing. */
	used(q: { id: string; now: number }): Promise<void>;
	/**
	 * Removes a key. `last`: it is the only one with this scope left, and `keep` says that one must
	 * stay.
	 */
	remove(q: { id: string; keep?: string | undefined }): Promise<"removed" | "missing" | "last">;
}

/** A webhook delivery without its body. */
export interface DeliveryRow {
	id: string;
	endpoint: string;
	job: string;
	url: string;
	state: DeliveryState;
	/** The last tries, oldest first. */
	tries: DeliveryTry[];
	/** Tries of the present round: since the end of the job, or since it was last asked for anew. */
	used: number;
	createdAt: number;
	/**
	 * When the next try is due, or, while one is under way, when it is given up as lost; absent when
	 * it is over.
	 */
	dueAt?: number | undefined;
}

/**
 * Deliveries are added by the store itself, in the step that ends a job with a webhook: what they
 * are says `core/delivery.ts`.
 */
export interface WebhookStore {
	/**
	 * Up to `limit` deliveries that are due, the longest due first, their bodies together at most
	 * `maxBytes` characters (but at least one); until `now + holdMs` nobody else gets them. Tells
	 * when the next one is due.
	 */
	claim(q: {
		limit: number;
		maxBytes: number;
		holdMs: number;
		now: number;
	}): Promise<{ due: (DeliveryRow & { body: JsonText })[]; nextDueAt?: number | undefined }>;
	/** Notes a try and what follows from it; nothing for a delivery that is not pending. */
	tried(q: {
		id: string;
		tried: DeliveryTry;
		state: DeliveryState;
		dueAt?: number | undefined;
	}): Promise<void>;
	/** Makes a delivery due again, as if its job had just ended. Signals `delivery`. */
	redeliver(q: { id: string; now: number }): Promise<"due" | "missing" | "pending">;
	find(q: { id: string }): Promise<DeliveryRow | undefined>;
	/** Deliveries, the last made first, from after `cursor`; absent filters let all pass. */
	list(q: {
		endpoint?: string | undefined;
		job?: string | undefined;
		state?: DeliveryState | undefined;
		cursor?: string | undefined;
		limit: number;
	}): Promise<{ deliveries: DeliveryRow[]; next?: string | undefined }>;
	/** Removes up to `limit` deliveries made before `before` that are over. Tells how many. */
	expire(q: { before: number; limit: number }): Promise<number>;
}

/** Everything a service keeps. */
export interface Store {
	jobs: JobStore;
	chunks: ChunkStore;
	endpoints: EndpointStore;
	workers: WorkerStore;
	tokens: TokenStore;
	keys: KeyStore;
	webhooks: WebhookStore;
	metrics: MetricsStore;
	/** Absent from a store that only one server can open. */
	cluster?: ClusterStore;
	/** Likewise. */
	limits?: LimitStore;
	/**
	 * An identity made with the store and kept in it: tells this service's workers from another's.
	 */
	identity(): Promise<string>;
	/** Resolves when a write works; throws {@link StoreUnavailable} otherwise. */
	ping(): Promise<void>;
	/**
	 * Calls the listener for each signal; the answer removes it. `elsewhere`: it tells of what
	 * another server did.
	 */
	onSignal(listener: (signal: Signal, elsewhere?: boolean) => void): () => void;
	/** Ends after the writes under way; later calls throw {@link StoreUnavailable}. */
	close(): Promise<void>;
}
