/** The contract of a launcher: it starts, stops and lists workers, and never sees a job (D25). */
import type { DockerSettings } from "../core/endpoint.ts";

/**
 * What a launcher is asked to start. `env` is complete: the worker learns from it where to call
 * (protocol B.1).
 */
export interface WorkerSpec {
	workerId: string;
	endpoint: string;
	/**
	 * The command and its arguments; the first element is looked up on PATH. Empty where an image has
	 * its own.
	 */
	command: readonly string[];
	/** Working directory of the worker. */
	cwd: string;
	env: Readonly<Record<string, string>>;
	/**
	 * Identity of the store whose service starts it: what is marked with it belongs to this service.
	 */
	serviceId?: string;
	/**
	 * Address that the worker calls, without a slash at the end; it begins the addresses in `env`.
	 */
	url?: string;
	/** GPUs of this machine that the worker gets, by number; absent: what the settings say. */
	gpus?: readonly number[];
	/** What the container is like, for launchers that run one. */
	container?: DockerSettings;
}

/**
 * What identifies a started worker across restarts of the service, as plain JSON. The service
 * records it before the worker is counted on, and hands it back to `adopt` after a restart (D34).
 */
export type Handle = Readonly<Record<string, string | number>>;

/**
 * Why and when a worker ended. `code` and `signal` as the operating system gives them; absent when
 * unknown.
 */
export interface Exit {
	workerId: string;
	code?: number;
	signal?: string;
	/** The last lines of its output, at most 2,000 characters. */
	lastOutput: string;
}

export interface Launcher {
	readonly name: string;
	/**
	 * Starts one worker. Resolves once it runs; throws an Error with a clear sentence when it cannot
	 * be started.
	 */
	start(spec: WorkerSpec): Promise<Handle>;
	/**
	 * Takes a worker of an earlier run of the service back under watch. False when it is no longer
	 * alive.
	 */
	adopt(workerId: string, handle: Handle): Promise<boolean>;
	/**
	 * Asks the worker to end, and ends it and all it started for certain after `graceMs`. Harmless
	 * when repeated or unknown. Resolves when it is gone.
	 */
	stop(workerId: string, graceMs: number): Promise<void>;
	/** Ids of the workers that really run, asked of the platform. */
	list(): Promise<string[]>;
	/**
	 * Ends what this service started there and has no record of; `known` are the ids of recorded
	 * workers. Absent where nothing can be left.
	 */
	endStrays?(q: { serviceId: string; known: readonly string[] }): Promise<number>;
	/** Called once for each started or adopted worker that ends, for whatever reason. */
	onExit(listener: (exit: Exit) => void): void;
	/** Stops watching; leaves the workers running. */
	close(): Promise<void>;
}

/** One line that a worker wrote, or a piece of a very long one. */
export interface LogLine {
	text: string;
	/** Bytes that the worker had written when the line was over: where reading goes on. */
	position: number;
}

/** Lines in the order in which they were written. */
export interface LogPart {
	lines: LogLine[];
	/** Where to read on. */
	next: number;
	/** Nothing more is there at present. */
	end: boolean;
}

/** What launched workers wrote to stdout and stderr, running or ended; whatever launched them. */
export interface WorkerLogs {
	/**
	 * Lines from a position on, at most some 64 KB of them; undefined when nothing is kept of this
	 * worker. `whole`: also a last line that has no end yet.
	 */
	read(q: { workerId: string; from: number; whole: boolean }): Promise<LogPart | undefined>;
	/** The first position that is kept and the last one there is. */
	extent(workerId: string): Promise<{ first: number; last: number } | undefined>;
}
