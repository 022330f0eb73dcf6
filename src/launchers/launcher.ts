/** The contract of a launcher: it starts, stops and lists workers, and never sees a job (D25). */

/** What a launcher is asked to start. `env` is complete: the worker learns from it where to call (wire-protocol B.1). */
export interface WorkerSpec {
  workerId: string;
  endpoint: string;
  /** The command and its arguments; the first element is looked up on PATH. */
  command: readonly string[];
  /** Working directory of the worker. */
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/**
 * What identifies a started worker across restarts of the service, as plain JSON. The service records it before
 * the worker is counted on, and hands it back to `adopt` after a restart (D34).
 */
export type Handle = Readonly<Record<string, string | number>>;

/** Why and when a worker ended. `code` and `signal` as the operating system gives them; absent when unknown. */
export interface Exit {
  workerId: string;
  code?: number;
  signal?: string;
  /** The last lines of its output, at most 2,000 characters. */
  lastOutput: string;
}

export interface Launcher {
  readonly name: string;
  /** Starts one worker. Resolves once it runs; throws an Error with a clear sentence when it cannot be started. */
  start(spec: WorkerSpec): Promise<Handle>;
  /** Takes a worker of an earlier run of the service back under watch. False when it is no longer alive. */
  adopt(workerId: string, handle: Handle): Promise<boolean>;
  /** Asks the worker to end, and ends it and all it started for certain after `graceMs`. Harmless when repeated or unknown. Resolves when it is gone. */
  stop(workerId: string, graceMs: number): Promise<void>;
  /** Ids of the workers that really run, asked of the platform. */
  list(): Promise<string[]>;
  /** Called once for each started or adopted worker that ends, for whatever reason. */
  onExit(listener: (exit: Exit) => void): void;
  /** Stops watching; leaves the workers running. */
  close(): Promise<void>;
}
