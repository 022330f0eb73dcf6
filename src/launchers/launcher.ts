/**
 * The contract of a launcher: it starts, stops, finds and lists workers on one platform, and never
 * handles jobs (D25, D34). `definition.ts` has its declarations; `test/launchers/index.ts` is the
 * conformance suite of this contract.
 *
 * Call order: `onExit` and `onNotice` once; after a service restart `adopt` for each recorded worker, one after
 * another; `removeStrays` once; then `start`, `stop` and `list`, concurrently and for different
 * workers in any order; finally `close`.
 *
 * Crashes: the service stores the worker id before `start` and the handle after it, and may be
 * killed between any two instructions. Workers outlive it. So everything that `start` creates
 * (process, container, pod, batch job) must carry `serviceId` and `workerId` where `removeStrays`
 * finds them.
 *
 * Errors: an Error with one sentence for the operator: what failed, and what to do; a
 * {@link PlatformUnavailable} where the platform does not answer. The service retries failed starts
 * with backoff, not the launcher. For watched workers the launcher does
 * bridge short platform outages: an unreachable platform is not an exit.
 *
 * Output goes to the worker's file in `logDir` (`log-files.ts`), line by line while it runs, and is
 * kept up to 24 h after its end. If the worker cannot write there, the launcher copies it, without
 * gaps or repetitions across a service restart.
 *
 * Times are in ms. The clock is a parameter.
 */
import type { LauncherSettings } from "../core/endpoint.ts";
import type { LogMarks } from "./log-marks.ts";
import type { HostView } from "../core/hosts.ts";
import type { ExitReason, WorkerReason } from "../core/workers/worker-reason.ts";
import type { WorkerUsage } from "../core/workers/worker-usage.ts";

/** The platform does not answer, or not now: nothing is known against the worker or its settings. */
export class PlatformUnavailable extends Error {}

export interface WorkerSpec<S extends LauncherSettings = LauncherSettings> {
	/** Never reused: letters, digits, `_` and `-`; starts with the endpoint's id. */
	workerId: string;
	endpoint: string;
	/** The endpoint's `launcher`, validated by this launcher's schema. */
	settings: S;
	/**
	 * The endpoint's variables, and those to find the service (protocol B.1). The launcher may add
	 * more. Some are secret: never show them.
	 */
	env: Readonly<Record<string, string>>;
	/** Identity of the service, or of this server if several share a store; marks what it owns. */
	serviceId: string;
	/** Address for the worker, without trailing slash; addresses in `env` start with it. */
	url: string;
	/** Assigned GPUs of this machine by number; may be empty. */
	gpus: readonly number[];
	/** How many GPUs it needs, where the platform assigns them (`placesGpus`). */
	gpuCount: number;
	/** Maximum number of workers of the endpoint at a time, for platforms that can refuse one more. */
	workersMax: number;
	/** How long a stopping worker usually gets, ms: for platforms that stop workers unasked. */
	stopGraceMs: number;
}

/**
 * Identifies a started worker across restarts of service and machine, as JSON. A reusable name
 * (pid) needs a second member that is never reused.
 */
export type Handle = Readonly<Record<string, string | number>>;

/** An endpoint whose workers a server starts. */
export interface EndpointWorkers {
	id: string;
	settings: LauncherSettings;
}

/** `code` and `signal` are the operating system's; absent if unknown. */
export interface Exit {
	workerId: string;
	code?: number;
	signal?: string;
	/** The last whole lines of output, at most 2,000 characters. */
	lastOutput: string;
	/** Where the platform knows more than `code` and `signal`. */
	reason?: ExitReason;
}

/**
 * What the platform says about a worker between `start` and its exit; the last notice counts.
 * `waiting`: it does not run yet, and why; this time does not count as start (`initTimeoutMs`).
 * `running`: it is no longer waiting. `ending`: the platform will end it, for good: it gets no
 * more jobs, is stopped once it holds none, and replaced; its exit is no crash.
 */
export type Notice = { workerId: string } & WorkerState;
export type WorkerState = ({ state: "waiting" | "ending" } & WorkerReason) | { state: "running" };

/** What a launcher ends: what carries `serviceId` but was not started or adopted here. */
export interface StraySearch {
	serviceId: string;
	/**
	 * This launcher's workers in the store, adopted or not; if empty, the search may wait for the first
	 * `start`, so that an unused platform is not called.
	 */
	recorded: readonly string[];
	/** Those of this launcher that this server scales; one that is `shared` leaves the workers of others alone. */
	endpoints: readonly EndpointWorkers[];
	/** What is found later is ended while this says that this server scales its endpoint. Default: it always does. */
	scales?: (endpoint: string) => boolean;
}

export interface Launcher {
	readonly name: string;
	/** Its workers cannot run on after the end of the service's process. */
	readonly endsWithService?: boolean;
	/**
	 * Starts a worker. Resolves when the platform runs its program, not when the worker is ready;
	 * with a queue, once it is accepted: the time until its first call counts as start, up to the
	 * endpoint's `initTimeoutMs`. Rejects if it cannot be started or its id is in use, and leaves
	 * nothing behind.
	 */
	start(spec: WorkerSpec): Promise<Handle>;
	/**
	 * Watches a worker of an earlier run; `handle` is that of `start`, perhaps with more members.
	 * True also if already watched. False if it has ended, the handle names something else now, or
	 * the platform does not respond; never rejects.
	 */
	adopt(workerId: string, handle: Handle): Promise<boolean>;
	/**
	 * Asks the worker to end; after `graceMs` kills it and everything it started. Resolves when none
	 * of it runs and the exit was reported; at once if unknown or ended. Concurrent stops share the
	 * shortest grace. Rejects if the platform does not respond for 10 s or the worker survives the
	 * kill by 10 s; another call retries.
	 */
	stop(workerId: string, graceMs: number): Promise<void>;
	/** Ids of started or adopted workers that run according to the platform, also if stopping. */
	list(): Promise<string[]>;
	/** Ends strays; returns the number of workers or processes ended. Idempotent. */
	removeStrays(search: StraySearch): Promise<number>;
	/**
	 * Called exactly once per started or adopted worker that ends, for any reason, after everything
	 * it started has ended; never after `close`.
	 */
	onExit(listener: (exit: Exit) => void): void;
	/** `shared` ones: another server scales the endpoint. Its workers run on, watched no more. */
	release?(endpoint: string): void;
	/**
	 * Used by platforms with a queue, or that end workers unasked. Called when something changed, also
	 * while `start` is in progress; never after the exit or after `close`.
	 */
	onNotice?(listener: (notice: Notice) => void): void;
	/**
	 * Called when a worker that `start` only accepted has a handle: replaces what `start` returned.
	 * Always before the worker's notice `running`.
	 */
	onHandle?(listener: (workerId: string, handle: Handle) => void): void;
	/**
	 * What workers use now, by id; those of which it is unknown are left out. Cheap enough for a page
	 * that asks every few seconds; never rejects. `gpus`: numbers of this machine's GPUs.
	 */
	usage?(workers: readonly { id: string; gpus: readonly number[] }[]): Promise<ReadonlyMap<string, WorkerUsage>>;
	/** Used by launchers that place workers on hosts of the configuration. */
	readonly hosts?: LauncherHosts;
	/**
	 * The worker holds jobs from now on, or none: for platforms that may move what is idle. Called for
	 * changes that last half a second or longer; the launcher retries failures.
	 */
	setBusy?(workerId: string, busy: boolean): void;
	/**
	 * The endpoints of this launcher that this server scales, whenever they have changed: to bring to
	 * the platform what their workers will need, such as images. `report`: what an endpoint waits for;
	 * undefined once it is there.
	 */
	prepare?(
		endpoints: readonly EndpointWorkers[],
		report: (endpoint: string, reason: WorkerReason | undefined) => void,
	): void;
	/** Stops watching; workers keep running, stops in flight continue. */
	close(): Promise<void>;
}

export interface LauncherHosts {
	views(): HostView[];
	/** Drains hosts by name: they get no workers; those they have finish their jobs and are replaced elsewhere. */
	setDrained(names: ReadonlySet<string>): void;
}

/** A line, or a piece of a very long one. */
export interface LogLine {
	text: string;
	/** Byte offset after the line. */
	position: number;
	/** When it was written, ms since the epoch, where that is known. */
	time?: number;
	/** The job, if the worker held one alone. */
	job?: string;
}

/** In the order of writing. */
export interface LogPart {
	lines: LogLine[];
	/** Where to continue. */
	next: number;
	/** No more lines yet. */
	end: boolean;
}

/** stdout and stderr of managed workers, running or ended. */
export interface WorkerLogs {
	/** At most 64 KiB; undefined if nothing is kept. `whole`: include a last line without newline. */
	read(q: { workerId: string; from: number; whole: boolean }): Promise<LogPart | undefined>;
	/** The first and last kept position. */
	extent(workerId: string): Promise<{ first: number; last: number } | undefined>;
	/** Ids of workers of which something is kept, the one that wrote last first. */
	list(): Promise<string[]>;
	/** Times and jobs of what a worker writes are noted from its start to its end. */
	marks: Pick<LogMarks, "watch" | "hold" | "end" | "close">;
}
