/** What the engine offers to `http` and `compose`: types only. */
import type { Endpoint } from "../core/endpoint.ts";
import type { JobState } from "../core/machine.ts";
import type { Report } from "../core/report.ts";
import type { JobResult } from "../core/view.ts";
import type { health } from "./health.ts";
import type { Keys } from "./keys.ts";
import type { Ping } from "./ping.ts";
import type { Registry } from "./registry.ts";
import type { StreamPart } from "./stream.ts";
import type { Submitted } from "./submit.ts";
import type { Tokens } from "./tokens.ts";
import type { Caller } from "./wait.ts";
import type { Worker } from "./workers.ts";

/** A job for a worker, with its secrets opened. */
export interface Handed {
  id: string;
  attempt: number;
  /** JSON text. */
  input: string;
  /** JSON text. */
  s3Config?: string | undefined;
}

/** What clients, workers and operators can have done. Throws {@link ApiError} for refusals. */
export interface Engine {
  registry: Registry;
  keys: Keys;
  tokens: Tokens;
  newId(operation: Submitted["operation"]): string;
  submit(q: Submitted): Promise<void>;
  /** Queues the job and waits for its end, at most `ms`; after that the job as it stands (D8). */
  submitAndWait(q: Submitted, wait: { ms: number; caller: Caller }): Promise<JobResult>;
  status(q: { endpoint: string; id: string }): Promise<JobResult>;
  statusSync(q: { endpoint: string; id: string; ms: number; caller: Caller }): Promise<JobResult>;
  streamNext(q: { endpoint: string; id: string; waitMs: number; caller: Caller }): Promise<StreamPart>;
  streamFrom(q: { endpoint: string; id: string; waitMs: number; caller: Caller; from: number }): Promise<StreamPart>;
  cancel(q: { endpoint: string; id: string }): Promise<JobState>;
  health(endpoint: string): ReturnType<typeof health>;
  /** The worker behind a call with a good token. */
  worker(q: { id: string; endpoint: string }): Worker;
  take(q: { worker: Worker; limit: number; idle: boolean; signal: AbortSignal }): Promise<Handed[]>;
  /** A hand-out that did not reach its worker. */
  handBack(worker: Worker, jobs: readonly Handed[]): Promise<void>;
  stopPoll(q: { worker: Worker; signal: AbortSignal }): Promise<string[]>;
  report(q: { worker: Worker; id: string; report: Report; signal?: AbortSignal }): Promise<void>;
  chunks(q: { worker: Worker; id: string; pieces: readonly string[]; unsure: boolean; signal?: AbortSignal }): Promise<void>;
  ping(worker: Worker, said: Ping): Promise<void>;
  /** Variables for a worker that somebody else starts (D36); its token is new. */
  workerEnv(q: { endpoint: string; url: string; replicas: boolean }): Promise<Record<string, string>>;
  /** Resolves when the store takes writes. */
  ready(): Promise<void>;
  /** The present, ms since the epoch. */
  now(): number;
  readonly draining: boolean;
  /** Loads what the store knows; must be done before the first request. */
  prepare(endpoints: readonly Endpoint[]): Promise<void>;
  /** Takes over workers, starts the loops. `url` is what workers call. */
  start(q: { url: string }): Promise<void>;
  /** Ends waits and polls, gives running jobs `drainMs`, returns the rest, ends launched workers (D34). */
  stop(q: { drainMs: number }): Promise<void>;
}
