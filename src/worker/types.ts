/** The names a user of the worker kit works with: job, context, handler, options. */

/**
 * A job as the service handed it out: `id`, `input` and whatever else the service sent, e.g.
 * `webhook`, `s3Config` (protocol B.3).
 */
export interface Job<Input = unknown> {
	readonly id: string;
	/** The input as parsed by `JSON.parse`: integers beyond 2^53 are rounded. */
	readonly input: Input;
	/**
	 * The exact JSON text of `input`, byte for byte as the client sent it (D5). Read from it what
	 * `JSON.parse` would alter. Computed when first read; not enumerable. `"null"` when the job has
	 * no input.
	 */
	readonly inputText: string;
	readonly [member: string]: unknown;
}

/** Severity of a log line, as in RunPod's SDK. */
export type LogLevel = "DEBUG" | "INFO" | "WARN" | "ERROR";

/** What a handler gets beside its job. The members may be taken apart (`{ signal, progress }`). */
export interface Context {
	/**
	 * Aborts when the service stops the job (cancelled, or over its execution timeout) or the worker
	 * is told twice to end. Nothing the handler gives after that is reported. The job keeps its slot
	 * until the handler returns.
	 */
	readonly signal: AbortSignal;
	readonly workerId: string;
	/**
	 * Shows `value` as the job's `output` while it runs. Resolves when the service has answered or
	 * could not be reached; never rejects, so it need not be awaited. Sent once, not repeated: the
	 * next value replaces it anyway.
	 */
	readonly progress: (value: unknown) => Promise<void>;
	/** Writes one log line that carries the job's id. Level `INFO` if not given. */
	readonly log: (message: string, level?: LogLevel) => void;
}

/**
 * Does the work of one job.
 * - A returned value (or promise) is the job's `output`. `undefined`, like `{}`, means success
 *   without output.
 * - An object with a truthy `error` member fails the job; `refresh_worker: true` asks for a fresh
 *   worker (protocol B.5).
 * - A generator, sync or async, streams: each item is one chunk, sent in order, each acknowledged
 *   before the next is asked for.
 * - A thrown error fails the job with its name, message and stack.
 */
export type Handler<Input = any, Output = any> = (
	job: Job<Input>,
	context: Context,
) =>
	| Output
	| Promise<Output>
	| Generator<Output>
	| AsyncIterable<Output>
	| Promise<AsyncIterable<Output>>;

/** Options of `start`. */
export interface StartOptions<Input = any, Output = any> {
	handler: Handler<Input, Output>;
	/**
	 * How many handlers may run at once: a number (default 1), or a function that is asked before
	 * each take with the number now in force (the SDK's `concurrency_modifier`).
	 */
	concurrency?: number | ((current: number) => number | Promise<number>);
	/**
	 * For generators: the final `output` is the list of all chunks instead of `[]` (the SDK's
	 * `return_aggregate_stream`).
	 */
	aggregate?: boolean;
	/**
	 * Ask for a fresh worker with every result, and end after the first (the SDK's `refresh_worker`).
	 */
	refreshWorker?: boolean;
	/** Where the settings come from (protocol B.1); default `process.env`. */
	env?: Readonly<Record<string, string | undefined>>;
	/** Stops the worker gracefully when it aborts, like SIGTERM. */
	signal?: AbortSignal;
}
