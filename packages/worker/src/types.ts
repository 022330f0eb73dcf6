/** Public types of the worker kit. */

/** A job: `id`, `input` and all other members sent by the service, such as `webhook` (B.3). */
export interface Job<Input = unknown> {
	readonly id: string;
	/** Parsed by `JSON.parse`: integers above 2^53 are rounded. */
	readonly input: Input;
	/**
	 * JSON text of `input`, byte for byte as sent by the client (D5), for values that `JSON.parse`
	 * would change. `"null"` without an input. Computed on first access; not enumerable.
	 */
	readonly inputText: string;
	readonly [member: string]: unknown;
}

/** Levels of RunPod's SDK. */
export type LogLevel = "DEBUG" | "INFO" | "WARN" | "ERROR";

/** The second argument of a handler; may be destructured (`{ signal, progress }`). */
export interface Context {
	/**
	 * Aborts when the service stops the job (cancelled or timed out), or at the second stop request
	 * to the worker. Later results are not reported. The job counts for `concurrency` until the
	 * handler returns.
	 */
	readonly signal: AbortSignal;
	readonly workerId: string;
	/**
	 * Sets the job's `output` while it runs. Resolves when the service has answered or was
	 * unreachable; never rejects, so awaiting is optional. Not retried.
	 */
	readonly progress: (value: unknown) => Promise<void>;
	/** Writes a log line with the job's id. Default level: `INFO`. */
	readonly log: (message: string, level?: LogLevel) => void;
}

/**
 * Processes one job.
 * - The returned (or resolved) value is the job's `output`. `undefined` and `{}`: no output.
 * - An object with a truthy `error` fails the job; `refresh_worker: true` requests a new worker
 *   afterwards (protocol B.5).
 * - A sync or async generator streams: each item is one chunk. It is asked for the next one when the
 *   service has the last one, or while few are on their way to Sluice. All are acknowledged
 *   before the job ends.
 * - A thrown error fails the job with its name, message and stack.
 */
export type Handler<Input = any, Output = any> = (
	job: Job<Input>,
	context: Context,
) => Output | Promise<Output> | Generator<Output> | AsyncIterable<Output> | Promise<AsyncIterable<Output>>;

/** Options of `start`. */
export interface StartOptions<Input = any, Output = any> {
	handler: Handler<Input, Output>;
	/**
	 * Concurrent handlers (default 1), or a function of the current number that returns it, called
	 * before each request for jobs (the SDK's `concurrency_modifier`).
	 */
	concurrency?: number | ((current: number) => number | Promise<number>);
	/** Used by generators: `output` is the list of all chunks (the SDK's `return_aggregate_stream`). */
	aggregate?: boolean;
	/** Exit after the first job and request a new worker (the SDK's `refresh_worker`). */
	refreshWorker?: boolean;
	/** Environment with the settings (protocol B.1); default `process.env`. */
	env?: Readonly<Record<string, string | undefined>>;
	/** Stops the worker gracefully, like SIGTERM. */
	signal?: AbortSignal;
}
