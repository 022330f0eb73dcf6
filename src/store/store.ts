/**
 * The contract every store keeps. Rules:
 * 1. Each method is one atomic step; no transaction or connection crosses the seam.
 * 2. Time comes in as `now` (ms since the epoch).
 * 3. No rules inside: what an event does to a job comes from `core/life.ts`, everything else as an argument.
 * 4. Refusals are values; faults are exceptions. A store that cannot write now throws {@link StoreUnavailable}.
 * 5. Payloads (`input`, `output`, chunks) are opaque JSON text and come back byte for byte (D5).
 * 6. A resolved write is on disk (D17). Batching callers into one commit is the dialect's secret; claims of a batch
 *    run after its inserts, so that both can share one commit.
 * 7. Deadlines hold without the sweeper (D15): a method that moves a job first settles what has passed for it
 *    (`dueEvent`), in the same step; a method that reads one answers as if that had been done. An erased job is
 *    missing to all methods here, except where a method says otherwise.
 * 8. Signals tell what a caller cannot know from its own answers: moves made in passing, and those of other servers.
 *    They are hints: possibly lost or doubled, ids only.
 */
import type { Attempt, Job, Submission } from "../core/job.ts";
import type { Counts } from "../core/life.ts";
import type { JobState } from "../core/machine.ts";
import type { JobResult } from "../core/view.ts";

/** The store cannot take a write (or anything) now; the same call may succeed later. */
export class StoreUnavailable extends Error {
  readonly why: "full" | "closed" | "unreachable";
  constructor(why: "full" | "closed" | "unreachable", message: string, options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }
}

/** A hint that something happened in passing or elsewhere. */
export type Signal =
  | { kind: "queued"; endpoint: string; id: string; /** The worker that lost it. */ worker?: string | undefined }
  | { kind: "settled"; endpoint: string; id: string; state: JobState }
  | { kind: "stop"; endpoint: string; id: string; worker: string };

/** The answer of a compare-and-set: the job after it, or why it was refused. */
export type Moved = { ok: true; job: Job } | { ok: false; why: "missing" | "state" | "stale"; state?: JobState };

/** A job on its way to a worker. */
export interface Claimed {
  job: Job;
  input: string;
}

/** What a claim found: the jobs, and whether waiting ones were passed over because this worker may still run an old attempt of them (D16 Fence). */
export interface Claim {
  jobs: Claimed[];
  fenced: boolean;
}

/** What a worker reports as the end of a job. */
export interface Outcome {
  on: "complete" | "fail";
  /** JSON text. */
  output?: string | undefined;
  error?: string | undefined;
}

/** What word of a worker's attempts did: jobs that wait again, and jobs whose attempt is now known to be over there without waiting again for it (old attempts, and one that failed by its last loss). */
export interface Reckoning {
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
  /** Adds a job at the back of its queue. `full` when, before it, more than `queueBound` jobs wait (D23). */
  insert(q: { submission: Submission; input: string; now: number; queueBound?: number | undefined }): Promise<{ ok: true; job: Job } | { ok: false; why: "full" }>;
  /** The job with its texts; `output` is the latest progress value while it runs (D6). */
  get(q: { endpoint: string; id: string; now: number }): Promise<JobResult | undefined>;
  /** Counts of an endpoint (D13). Zeros for an endpoint without jobs. */
  counts(q: { endpoint: string; now: number }): Promise<Counts>;
  /** When the oldest job that is not of low priority began to wait, and how many such wait; for scaling (D20, D27). */
  waiting(q: { endpoint: string; now: number }): Promise<{ jobs: number; oldestQueuedAt?: number }>;
  /** Hands up to `limit` jobs to a worker, oldest first, low priority last, their inputs together at most `maxBytes` characters (but at least one job). Skips lapsed ones and those fenced from this worker. */
  claim(q: { endpoint: string; worker: string; limit: number; maxBytes: number; now: number }): Promise<Claim>;
  /** The end of a job as its worker tells it. `stale` when the worker does not hold the job (any more); an old attempt of that worker is then known to be over. `missing` when the worker was never handed it. */
  report(q: { endpoint: string; id: string; worker: string; outcome: Outcome; now: number }): Promise<Moved>;
  /** Keeps a progress value and renews the lease. False when the worker does not hold the job. */
  progress(q: { endpoint: string; id: string; worker: string; value: string; now: number }): Promise<boolean>;
  /** One event from the outside. `release` and `lose` name the attempt they mean, else `stale`. `over`: the attempt is known to be over at its worker. */
  move(q: { endpoint: string; id: string; on: "cancel" | "release" | "lose" | "retry"; attempt?: number; over?: boolean; now: number }): Promise<Moved>;
  /** Settles up to `limit` jobs for which something has passed, announced as signals. Tells when the next one is due (undefined: none). */
  settle(q: { now: number; limit: number }): Promise<{ settled: number; nextDueAt?: number | undefined }>;
  /** Extends every running lease to at least one full lease from `now` and forgets missed pings (D16 Outages). */
  extendAll(q: { now: number }): Promise<void>;
  /** All running jobs. */
  running(): Promise<Running[]>;
  /** Runs that were to stop and may still go on at their worker: cancelled or overrun, and not known to be over (D18). */
  unstopped(): Promise<{ endpoint: string; id: string; worker: string }[]>;
  /** Attempts of a job that did not end by a report or were replaced by a retry, oldest first; erased jobs included. The last one may also be the job's own, where it was cancelled, overran or failed by losses. */
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
  /** Adds chunks in order and renews the lease. `stale` when the worker does not hold the job, `missing` when it was never handed it. With `unlessLast` the chunks are dropped as a repeat when they equal the last ones stored. */
  append(q: { endpoint: string; id: string; worker: string; chunks: readonly string[]; unlessLast: boolean; now: number }): Promise<{ ok: true; repeat: boolean } | { ok: false; why: "missing" | "stale" }>;
  /** Chunks from number `from`, moving nothing. Undefined for an unknown job. */
  read(q: { endpoint: string; id: string; from: number; maxBytes: number; now: number }): Promise<ChunkRead | undefined>;
  /** Reserves the chunks not delivered yet for `reader`. While another reader's range is unwritten the answer is empty, `busy`, and `next` is where that range begins. An empty range is not reserved. */
  reserve(q: { endpoint: string; id: string; reader: string; maxBytes: number; now: number }): Promise<ChunkRead | undefined>;
  /** Ends a reservation: delivered moves the cursor, else the range is free again. */
  deliver(q: { endpoint: string; id: string; reader: string; delivered: boolean }): Promise<void>;
}

/** An endpoint as stored; `settings` is JSON text that the engine reads and writes. */
export interface EndpointRow {
  id: string;
  settings: string;
  paused: boolean;
  createdAt: number;
}

export interface EndpointStore {
  /** Creates it or replaces its settings; `paused` and `createdAt` of an existing one stay. */
  put(q: { id: string; settings: string; now: number }): Promise<void>;
  list(): Promise<EndpointRow[]>;
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
  createdAt: number;
}

export interface WorkerStore {
  /** Adds the worker or replaces its record. */
  put(row: WorkerRow): Promise<void>;
  list(): Promise<WorkerRow[]>;
  remove(q: { id: string }): Promise<void>;
  /** A ping: renews the leases of the jobs named, counts a miss for the others handed out before `handedBefore`, takes back those missed {@link MISSED_PINGS} times; the same for its old attempts, which are then over (D16). */
  ping(q: { endpoint: string; worker: string; named: readonly string[]; handedBefore: number; now: number }): Promise<Reckoning>;
  /** Word that the worker runs nothing that was handed out before `before` (a take with `job_in_progress=0`, or its process is dead): takes back its jobs and ends its old attempts (D16). */
  idle(q: { endpoint: string; worker: string; before: number; now: number }): Promise<Reckoning>;
  /** Renews the leases of all its running jobs: for a worker that never pinged, by its held polls (D16). */
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
}

export interface KeyStore {
  /** Adds the key; with `ifNone` only when there is no key at all. Tells whether it was added. */
  insert(q: { row: KeyRow; ifNone: boolean }): Promise<boolean>;
  find(q: { hash: string }): Promise<KeyRow | undefined>;
}

/** Everything a service keeps. */
export interface Store {
  jobs: JobStore;
  chunks: ChunkStore;
  endpoints: EndpointStore;
  workers: WorkerStore;
  tokens: TokenStore;
  keys: KeyStore;
  /** An identity made with the store and kept in it: tells this service's workers from another's. */
  identity(): Promise<string>;
  /** Resolves when a write works; throws {@link StoreUnavailable} otherwise. */
  ping(): Promise<void>;
  /** Calls the listener for each signal; the answer removes it. */
  onSignal(listener: (signal: Signal) => void): () => void;
  /** Ends after the writes under way; later calls throw {@link StoreUnavailable}. */
  close(): Promise<void>;
}

