/** `id`, `input` and all other members sent by the service, such as `webhook` (B.3). */
export interface Job<Input = unknown> {
	readonly id: string;
	/** Parsed by `JSON.parse`, which rounds integers above 2^53. */
	readonly input: Input;
	/** JSON text of `input`, byte for byte as sent by the client (D5). `"null"` without an input. Not enumerable. */
	readonly inputText: string;
	/**
	 * Number of the run: 1, and one more after each `/retry`. The same when the job runs again because a worker was lost
	 * or returned it, so `id` and `run` together name what a client asked for. Undefined on RunPod.
	 */
	readonly run?: number;
	readonly [member: string]: unknown;
}

/** Levels of RunPod's SDK. */
export type LogLevel = "DEBUG" | "INFO" | "WARN" | "ERROR";

/** A file that was stored. */
export interface StoredFile {
	/** By which anyone may read it for 7 days. */
	readonly url: string;
	readonly bytes: number;
	readonly contentType: string;
}

export interface Files {
	/**
	 * Stores bytes, or the file at a path, which is never held whole. `name` is required for bytes; names with `/` are
	 * folders, and a second file with the same name replaces the first. `contentType` is by default that of the name's
	 * end. It goes to the bucket of the job's `s3Config`, else to that of the variables `BUCKET_ENDPOINT_URL`,
	 * `BUCKET_ACCESS_KEY_ID` and `BUCKET_SECRET_ACCESS_KEY`, which Sluice sets on endpoints with `files: true`, under the
	 * key `{job.id}/{name}`. Attempts are repeated. Rejects with an Error that says why it was not stored.
	 */
	put(source: Uint8Array | string, options?: { contentType?: string; name?: string }): Promise<StoredFile>;
}

/** The second argument of a handler. May be destructured. */
export interface Context {
	/**
	 * Aborts when the service stops the job, or at the worker's second stop request. Later results are not reported.
	 * The job counts for `concurrency` until the handler returns.
	 */
	readonly signal: AbortSignal;
	readonly workerId: string;
	/**
	 * Sets the job's `output` while it runs. Resolves when the service has answered or was unreachable. Never rejects,
	 * and is not retried.
	 */
	readonly progress: (value: unknown) => Promise<void>;
	/** Writes a log line with the job's id. Default level: `INFO`. */
	readonly log: (message: string, level?: LogLevel) => void;
	/** Stores files, whose links the output may name. */
	readonly files: Files;
}

/**
 * Processes one job.
 * - The returned (or resolved) value is the job's `output`. `undefined` and `{}`: no output.
 * - An object with a truthy `error` fails the job; `refresh_worker: true` requests a new worker
 *   afterwards (protocol B.5).
 * - A sync or async generator streams: each item is one chunk. It is asked for the next one when the
 *   service has the last one, or while few are on their way to Sluice. All are acknowledged
 *   before the job ends.
 * - A thrown error fails the job with its name, message and stack; a thrown `JobReturn` gives it back to the queue.
 */
export type Handler<Input = any, Output = any> = (
	job: Job<Input>,
	context: Context,
) => Output | Promise<Output> | Generator<Output> | AsyncIterable<Output> | Promise<AsyncIterable<Output>>;

export interface StartOptions<Input = any, Output = any> {
	handler: Handler<Input, Output>;
	/**
	 * Number of concurrent handlers (default 1), or a function of the current number that returns it, called before
	 * each request for jobs (the SDK's `concurrency_modifier`). Fractions are rounded down. Below 1 is a pause: no jobs
	 * are requested, running ones go on, pings continue, and the function is called again at least once a second. A
	 * request that is open then is not cut, so that jobs may still arrive. If the function fails or returns no finite
	 * number, the current number stays and the log says so.
	 */
	concurrency?: number | ((current: number) => number | Promise<number>);
	/** A generator's `output` is the list of all chunks (the SDK's `return_aggregate_stream`). */
	aggregate?: boolean;
	/** Exit after the first job and request a new worker (the SDK's `refresh_worker`). */
	refreshWorker?: boolean;
	/** Environment with the settings (protocol B.1). Default: `process.env`. */
	env?: Readonly<Record<string, string | undefined>>;
	/** Stops the worker gracefully, like SIGTERM. */
	signal?: AbortSignal;
}
