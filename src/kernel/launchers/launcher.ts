/**
 * The contract of a launcher, which runs workers on one platform and never handles jobs (D25, D34).
 * `test/launchers/index.ts` is its conformance suite. Call order: `onExit` and `onNotice` once, `adopt` for each
 * recorded worker one after another, `removeStrays` once, then `start`, `stop` and `list` concurrently, finally
 * `close`. Errors have one sentence for the operator: what failed, and what to do. Output goes to `logDir`
 * (`log-files.ts`) while the worker runs, without gaps or repetitions across a service restart. Times are in ms.
 */
import type { LauncherSettings } from "../core/endpoints/endpoint.ts";
import type { LogMarks } from "./logs/log-marks.ts";
import type { Priority } from "../core/workers/priority.ts";
import type { HostView } from "../core/workers/hosts.ts";
import type { ExitReason, WorkerReason } from "../core/workers/worker-reason.ts";
import type { MachineGpu } from "../core/workers/gpus.ts";
import type { WorkerUsage } from "../core/workers/worker-usage.ts";

/** The platform does not answer, or not now. Nothing is known against the worker or its settings, and it is no exit. */
export class PlatformUnavailable extends Error {}

/** The name of the adapter's program in commands that run where a worker runs ({@link Launcher.run}). */
export const ADAPTER_COMMAND = "sluice-http";

/**
 * The worker is an adapter: `sluice-http` of the worker kit, which takes the jobs and sends them as plain HTTP to a
 * server beside it. `WorkerSpec.settings` are the server's. The adapter has `WorkerSpec.env`; the server gets none of
 * the variables that give access to the service.
 */
export interface WorkerAdapter {
	/** The resolved mapping as JSON, which `WorkerSpec.env` has as `MAPPING_VARIABLE`. */
	mapping: string;
	/** Port on which the server listens. 0: the adapter chooses one. Undefined: it listens at a UNIX socket. */
	port: number | undefined;
}

export interface WorkerSpec<S extends LauncherSettings = LauncherSettings> {
	/** Never reused. Letters, digits, `_` and `-`, beginning with the endpoint's id. */
	workerId: string;
	endpoint: string;
	settings: S;
	/** The endpoint's variables and those to find the service (protocol B.1). Some are secret: never show them. */
	env: Readonly<Record<string, string>>;
	/** Identity of the service, or of this server if several share a store. */
	serviceId: string;
	/** Has no trailing slash. Addresses in `env` start with it. */
	url: string;
	/** Undefined: `settings` are of a program that takes jobs itself. */
	adapter?: WorkerAdapter | undefined;
	/** Assigned GPUs of this machine: numbers, or UUIDs where it has MIG devices. */
	gpus: readonly (number | string)[];
	/** Number of GPUs where the platform assigns them (`placesGpus`). */
	gpuCount: number;
	/** Part of each of these GPUs that it may use, in 10^9 bytes; absent: all of it (`sharesGpus`). */
	gpuMemoryGb?: number | undefined;
	/** Who gets a free place first. Default: normal. */
	priority?: Priority;
	/** With those of a replacement beside others. Lets a platform refuse one more worker. */
	workersMax: number;
	/** Usual grace, ms, for platforms that stop workers unasked. */
	stopGraceMs: number;
}

/**
 * Identifies a started worker across restarts of service and machine, as JSON. A reusable name such as a pid needs a
 * second member that is never reused.
 */
export type Handle = Readonly<Record<string, string | number>>;

/**
 * Member of a stored handle: the service that started the worker, which a copy of its store is not. Absent in handles
 * of earlier versions.
 */
export const STARTED_BY = "sluiceService";

export interface EndpointWorkers {
	id: string;
	settings: LauncherSettings;
}

/** `code` and `signal` are the operating system's, absent if unknown. */
export interface Exit {
	workerId: string;
	code?: number;
	signal?: string;
	/** The last whole lines as they were printed, at most 64 KiB, or the end of a longer line. */
	lastOutput: string;
	reason?: ExitReason;
}

/**
 * The last notice before the exit counts. `waiting`: the worker does not run yet, and this time does not count as
 * start (`initTimeoutMs`). `running`: it waits no more. `ending`: the platform will end it, so it gets no more jobs,
 * is replaced, and its exit is no crash.
 */
export type Notice = { workerId: string } & PlatformState;
export type PlatformState = ({ state: "waiting" | "ending" } & WorkerReason) | { state: "running" };

export interface StraySearch {
	serviceId: string;
	/**
	 * Workers in the store. If empty, the search may wait for the first `start`, because an unused platform is not
	 * called.
	 */
	recorded: readonly string[];
	/** Endpoints that this server scales. A `shared` launcher leaves workers of others alone. */
	endpoints: readonly EndpointWorkers[];
	/** Whether this server still scales an endpoint, for strays that are found later. Default: always. */
	scales?: (endpoint: string) => boolean;
}

export interface WorkerCommand {
	/** The present ones of its endpoint. */
	settings: LauncherSettings;
	/** Program and arguments. */
	command: readonly string[];
	timeoutMs: number;
}

/** A worker of this launcher, with the present settings of its endpoint. */
export interface PlacedWorker {
	id: string;
	settings: LauncherSettings;
	gpus: number;
}

export interface RoomQuery {
	waiting: PlacedWorker & WorkerReason;
	/** Time since it was started, or last seen waiting while another worker left its GPUs. */
	quietMs: number;
	/** May be stopped, in this order; those that hold jobs finish them first. */
	stoppable: readonly PlacedWorker[];
	/** Are being stopped. */
	leaving: readonly PlacedWorker[];
}

export interface Launcher {
	readonly name: string;
	readonly endsWithService?: boolean;
	/**
	 * Resolves when the platform runs the program, or a queue has accepted it. Rejects if the worker cannot be started
	 * or its id is in use, and leaves nothing behind. The service retries, not the launcher. The service may be killed
	 * at any instruction before it has stored the handle, so everything that is created carries `serviceId` and
	 * `workerId` for `removeStrays`.
	 */
	start(spec: WorkerSpec): Promise<Handle>;
	/**
	 * Watches a worker of an earlier run. True also if already watched. False if it has ended, the handle names something
	 * else now, or the platform shows the mark of another service than `serviceId`: a handle proves nothing, since a copy
	 * of the store has it too. Where the platform does not answer, either false, or nothing is signalled before the mark
	 * was seen. Never rejects.
	 */
	adopt(workerId: string, handle: Handle, serviceId: string): Promise<boolean>;
	/**
	 * Asks the worker to end, and kills it and everything it started after `graceMs`. Resolves when the exit was
	 * reported, at once if unknown. Concurrent stops share the shortest grace. Rejects if the platform does not
	 * respond for 10 s or the worker survives the kill by 10 s. Another call retries.
	 */
	stop(workerId: string, graceMs: number): Promise<void>;
	/**
	 * Runs a program where the worker runs, with its variables and rights (`canSleep`). {@link ADAPTER_COMMAND} is the
	 * program of a worker that is an adapter. Rejects with a sentence unless it exits with 0 within `timeoutMs`.
	 */
	run?(workerId: string, q: WorkerCommand): Promise<void>;
	/** Ids of started or adopted workers that run according to the platform, also if stopping. */
	list(): Promise<string[]>;
	/** Ends what carries `serviceId` but was not started or adopted here. Returns the number ended. Idempotent. */
	removeStrays(search: StraySearch): Promise<number>;
	/** Called exactly once per started or adopted worker, after everything it started has ended. Never after `close`. */
	onExit(listener: (exit: Exit) => void): void;
	/** Another server scales the endpoint of this `shared` launcher now. Its workers run on, unwatched. */
	release?(endpoint: string): void;
	/**
	 * Used by platforms with a queue, or that end workers unasked. Called on changes, also during `start`, never after
	 * the exit or `close`.
	 */
	onNotice?(listener: (notice: Notice) => void): void;
	/** Replaces the handle of a worker that `start` only accepted, always before the notice `running`. */
	onHandle?(listener: (workerId: string, handle: Handle) => void): void;
	/**
	 * Usage by worker id, without unknown ones. Cheap enough for a call every few seconds. Never rejects. `gpus`:
	 * numbers of this machine's GPUs.
	 */
	usage?(workers: readonly { id: string; gpus: readonly number[] }[]): Promise<ReadonlyMap<string, WorkerUsage>>;
	/** All GPUs of this machine, empty if they cannot be read. Answers at once, or within 5 s. Never rejects. */
	machineGpus?(): Promise<readonly MachineGpu[]>;
	/**
	 * Bytes of GPU memory that workers on this machine use, by worker and UUID of the GPU, without unknown ones. Answers
	 * within 10 s. Never rejects.
	 */
	gpuMemory?(workers: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>>;
	readonly hosts?: LauncherHosts;
	/**
	 * Used by platforms that may move idle workers. Called for changes that last half a second or longer, and with the
	 * present state before `stop`. The launcher retries failures.
	 */
	setBusy?(workerId: string, busy: boolean): void;
	/**
	 * Called when the endpoints of this server have changed, to fetch images and the like early. `report`: what an
	 * endpoint waits for, undefined once it is there.
	 */
	prepare?(
		endpoints: readonly EndpointWorkers[],
		report: (endpoint: string, reason: WorkerReason | undefined) => void,
	): void;
	/**
	 * Used by platforms that place workers. Returns the ids of those that should end so that the waiting one
	 * gets a place. Empty if that does not help, or is not needed because others leave.
	 */
	roomFor?(q: RoomQuery): readonly string[];
	/** Stops watching. Workers keep running, and stops in flight continue. */
	close(): Promise<void>;
}

export interface LauncherHosts {
	views(): HostView[];
	/** Drained hosts get no workers. Their workers finish their jobs and are replaced elsewhere. */
	setDrained(names: ReadonlySet<string>): void;
}

/** Longer lines are returned in pieces. */
export const LINE_BYTES = 16 * 1024;

export interface LogLine {
	text: string;
	/** Byte offset after the line. */
	position: number;
	/** Ms since the epoch, where it is known. */
	time?: number;
	/** Set if the worker held one job alone. */
	job?: string;
}

export interface LogPart {
	lines: LogLine[];
	/** Position where the next read continues. */
	next: number;
	end: boolean;
}

/** Ms since the epoch. */
export interface TimeRange {
	since?: number | undefined;
	until?: number | undefined;
}

/** stdout and stderr of managed workers, running or ended. */
export interface WorkerLogs {
	/** At most 64 KiB. Undefined if nothing is kept. `whole`: include a last line without newline. */
	read(q: { workerId: string; from: number; whole: boolean }): Promise<LogPart | undefined>;
	/** With a time range, about the part whose lines were written then. */
	extent(workerId: string, range?: TimeRange): Promise<{ first: number; last: number } | undefined>;
	/** See {@link Exit}. Empty if nothing is kept. */
	lastOutput(workerId: string): Promise<string>;
	/** `changed`: ms since the epoch. */
	list(): Promise<{ workerId: string; changed: number }[]>;
	marks: Pick<LogMarks, "watch" | "hold" | "update" | "end" | "close">;
}
