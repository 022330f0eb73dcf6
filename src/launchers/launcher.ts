/**
 * The contract of a launcher: it starts, stops, finds and lists workers on one platform, and never
 * sees a job (D25, D34). `definition.ts` is what it declares about itself; the conformance suite in
 * `test/launchers/index.ts` is this text as tests.
 *
 * Calls, in this order: `onExit` once; after a restart of the service `adopt` for each recorded
 * worker, one after another; `removeStrays` once; then `start`, `stop` and `list`, concurrently and
 * for different workers in any order; at the end `close`.
 *
 * Crashes. The service stores the worker's id before `start` and the handle after it, and may be
 * killed between any two instructions. Workers outlive it. So all that `start` creates (process,
 * container, pod, batch job) must carry `serviceId` and `workerId` where `removeStrays` finds them.
 *
 * Errors are an Error with one sentence for the operator: what failed, and what to do. A launcher
 * does not retry a start: the service does, with growing pauses. It does bridge short outages of its
 * platform for the workers it watches: an unreachable platform is no exit.
 *
 * Output. What a worker prints goes to its file in `logDir` (`log-files.ts`), line by line while it
 * runs; the file outlives the worker by up to 24 h. Where the worker cannot write there, the
 * launcher copies, without gaps or repetitions across a restart of the service.
 *
 * Times are in ms. The clock is a parameter.
 */
import type { LauncherSettings } from "../core/endpoint.ts";

/** The worker to start. */
export interface WorkerSpec<S extends LauncherSettings = LauncherSettings> {
	/** Never reused: letters, digits, `_` and `-`; the endpoint's id begins it. */
	workerId: string;
	endpoint: string;
	/** The endpoint's `launcher`, as the schema of this launcher checked it. */
	settings: S;
	/**
	 * The endpoint's own variables, and those by which the worker finds the service (protocol B.1).
	 * The launcher may add to them, and must not show them: some are secret.
	 */
	env: Readonly<Record<string, string>>;
	/**
	 * Identity of the service, of this server where several share a store. What carries it belongs to
	 * this service.
	 */
	serviceId: string;
	/** Address that the worker calls, without a slash at the end; addresses in `env` begin with it. */
	url: string;
	/** GPUs of this machine that are assigned to the worker, by number; empty: none are assigned. */
	gpus: readonly number[];
}

/**
 * What identifies a started worker across restarts of the service and of the machine, as JSON. The
 * members are the launcher's own; a name that is reused (a pid) needs a second one that is not.
 */
export type Handle = Readonly<Record<string, string | number>>;

/** The end of a worker. `code` and `signal` as the operating system has them, absent if unknown. */
export interface Exit {
	workerId: string;
	code?: number;
	signal?: string;
	/** The last whole lines of its output, at most 2,000 characters. */
	lastOutput: string;
}

export interface Launcher {
	readonly name: string;
	/**
	 * Starts one worker. Resolves when the platform runs its program, not when the worker is ready.
	 * Rejects when it cannot be started or its id is already in use, and leaves nothing behind then.
	 * Where the platform queues, resolve when it has accepted the worker: the time until its first
	 * call counts as start, up to the endpoint's `initTimeoutMs`.
	 */
	start(spec: WorkerSpec): Promise<Handle>;
	/**
	 * Watches a worker again that an earlier run of the service started; `handle` as `start` returned
	 * it, perhaps with further members. True also when it is watched already. False when it has ended,
	 * when the handle names something else now, or when the platform does not answer; never rejects.
	 */
	adopt(workerId: string, handle: Handle): Promise<boolean>;
	/**
	 * Asks the worker to end, and after `graceMs` ends it and everything it started. Resolves when
	 * none of it runs and the exit was reported. Concurrent stops share one end, the shortest grace
	 * counts; an unknown or ended worker resolves at once. Rejects when the platform does not answer
	 * for 10 s, or the worker survives its end by 10 s; another call then tries again.
	 */
	stop(workerId: string, graceMs: number): Promise<void>;
	/**
	 * Ids of the workers, started or adopted, that run according to the platform, those that are
	 * stopping included.
	 */
	list(): Promise<string[]>;
	/**
	 * Ends what carries `serviceId` and is no worker that was started or adopted here, and resolves
	 * with the number of workers or processes ended. `recorded`: ids of the workers of this launcher
	 * that the store listed, adopted or not; if there are none, a launcher may postpone this to its
	 * first `start`, so that a platform that no endpoint uses is not called. Idempotent.
	 */
	removeStrays(q: { serviceId: string; recorded: readonly string[] }): Promise<number>;
	/**
	 * The listener is called exactly once for each started or adopted worker that ends, for any
	 * reason, after everything it started has ended too; never after `close`.
	 */
	onExit(listener: (exit: Exit) => void): void;
	/** Stops watching and leaves the workers running. Stops in flight go on. */
	close(): Promise<void>;
}

/** One line of a worker's output, or a piece of a very long one. */
export interface LogLine {
	text: string;
	/** Bytes of output up to the end of the line: where to continue reading. */
	position: number;
}

/** Lines in the order of writing. */
export interface LogPart {
	lines: LogLine[];
	/** Where to continue. */
	next: number;
	/** No more lines yet. */
	end: boolean;
}

/** stdout and stderr of managed workers, running or ended, of every launcher. */
export interface WorkerLogs {
	/**
	 * Lines from a position on, at most 64 KiB; undefined when nothing of this worker is kept.
	 * `whole`: include a last line without a newline.
	 */
	read(q: { workerId: string; from: number; whole: boolean }): Promise<LogPart | undefined>;
	/** The first position that is kept, and the last one. */
	extent(workerId: string): Promise<{ first: number; last: number } | undefined>;
}
