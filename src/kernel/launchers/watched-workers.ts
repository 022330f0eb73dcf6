import type { Clock } from "../system/clock.ts";
import type { LauncherDependencies } from "./definition.ts";
import {
	type Exit,
	type Handle,
	type Notice,
	PlatformUnavailable,
	type WorkerSpec,
	type PlatformState,
} from "./launcher.ts";
import { logPath, tail } from "./logs/log-files.ts";
import { pruneLogs } from "./logs/old-logs.ts";

/** Interval of the grace countdown, ms, and so the delay of a shortened grace. */
const STEP_MS = 25;
const STEPS_TO_REPEAT = 1000 / STEP_MS;

/** Maximum time to end after SIGKILL, ms. */
export const KILL_TIMEOUT_MS = 10_000;

/** A worker from its start or adoption until its exit is reported. */
export class WatchedWorker {
	readonly id: string;
	/** Remaining grace of the stop in progress, ms. Another stop may shorten it. */
	graceLeftMs = Infinity;
	/** Shared by concurrent stops. */
	ending: Promise<void> | undefined;
	noticed = "";
	/** Aborted when its program has ended. */
	readonly over = new AbortController();
	/** Aborted when it is not watched any more. */
	readonly left = new AbortController();
	/** Resolves when its exit was reported, or it is not watched any more. */
	readonly reported = Promise.withResolvers<void>();

	constructor(id: string) {
		this.id = id;
	}

	get hasEnded(): boolean {
		return this.over.signal.aborted;
	}
}

/** A listener that fails does not keep others from their call. `of`: its name in the log. */
export function listeners<A extends unknown[]>(of: string, log: (message: string) => void) {
	const all: ((...args: A) => void)[] = [];
	return {
		add: (listener: (...args: A) => void) => void all.push(listener),
		call(...args: A): void {
			for (const listener of all) {
				try {
					listener(...args);
				} catch (error) {
					log(`a listener for ${of} failed: ${String(error)}`);
				}
			}
		},
	};
}

/**
 * Calls `terminate` if there is a grace, and again every second while it returns false: the platform may have lost the
 * signal. A repeat that fails counts as false. Resolves after the grace or at the worker's end.
 */
export async function endInGrace(
	clock: Clock,
	worker: { graceLeftMs: number },
	q: { terminate: () => unknown; hasEnded: () => boolean; signal?: AbortSignal },
): Promise<void> {
	let isLost = worker.graceLeftMs > 0 && (await q.terminate()) === false;
	for (let step = 1; worker.graceLeftMs > 0 && !q.hasEnded(); step += 1) {
		await clock.sleep(Math.min(STEP_MS, worker.graceLeftMs), q.signal);
		worker.graceLeftMs -= STEP_MS;
		if (!isLost || step % STEPS_TO_REPEAT !== 0 || q.hasEnded()) continue;
		const began = clock.now();
		isLost = await Promise.resolve(q.terminate()).then(
			(answer) => answer === false,
			() => true,
		);
		worker.graceLeftMs -= clock.now() - began;
	}
}

/** `now`: ms since the epoch. */
type Prune = (folder: string, q: { running: () => string[]; now: number }) => Promise<void>;

export abstract class WatchedWorkers<W extends WatchedWorker, S extends WorkerSpec> {
	protected readonly clock: Clock;
	protected readonly logDir: string;
	protected readonly log: (message: string) => void;
	protected readonly workers = new Map<string, W>();
	protected readonly starting = new Set<string>();
	/** On shared platforms: settings of the endpoints that this server scales. */
	protected readonly owned = new Map<string, S["settings"]>();
	protected scales = (_endpoint: string): boolean => true;
	/** Nothing is reported after `close`. */
	protected readonly closed = new AbortController();
	readonly #exits;
	readonly #notices;
	/** Folders whose old files are being removed. */
	readonly #pruned = new Set<string>();

	constructor({ clock, logDir, log }: Pick<LauncherDependencies, "clock" | "logDir" | "log">) {
		this.clock = clock;
		this.logDir = logDir;
		this.log = log;
		this.#exits = listeners<[Exit]>("exits of workers", log);
		this.#notices = listeners<[Notice]>("notices of workers", log);
	}

	protected abstract begin(spec: S): Promise<Handle>;
	/** Ends the worker within `graceLeftMs`, then kills it. `graceMs`: of the stop that began it. */
	protected abstract end(worker: W, graceMs: number): Promise<void>;

	async start(spec: WorkerSpec): Promise<Handle> {
		const { workerId, endpoint } = spec;
		if (this.knows(workerId)) throw new Error(`worker ${workerId} already runs`);
		this.starting.add(workerId);
		try {
			this.pruneBeside(this.logDir, pruneLogs);
			return await this.begin(spec as S);
		} catch (error) {
			throw this.failure(`cannot start a worker of endpoint "${endpoint}"`, error);
		} finally {
			this.starting.delete(workerId);
		}
	}

	async stop(workerId: string, graceMs: number): Promise<void> {
		const worker = this.workers.get(workerId);
		if (!worker) return;
		await this.join(worker, graceMs);
		await worker.reported.promise;
	}

	onExit(listener: (exit: Exit) => void): void {
		this.#exits.add(listener);
	}

	onNotice(listener: (notice: Notice) => void): void {
		this.#notices.add(listener);
	}

	async close(): Promise<void> {
		this.closed.abort();
		for (const worker of this.workers.values()) if (!worker.ending) this.forget(worker);
	}

	protected get isClosed(): boolean {
		return this.closed.signal.aborted;
	}

	protected knows(workerId: string): boolean {
		return this.workers.has(workerId) || this.starting.has(workerId);
	}

	/** Whether unwatched workers of the endpoint are strays. */
	protected owns(endpoint: string): boolean {
		return !this.isClosed && this.owned.has(endpoint) && this.scales(endpoint);
	}

	protected isWatched(worker: W): boolean {
		return this.workers.get(worker.id) === worker;
	}

	protected add(worker: W): W {
		this.workers.set(worker.id, worker);
		return worker;
	}

	/** Joins a stop in progress, for which the shorter grace applies. */
	protected join(worker: W, graceMs: number): Promise<void> {
		worker.graceLeftMs = Math.min(worker.graceLeftMs, graceMs);
		worker.ending ??= this.end(worker, graceMs).catch((error: unknown) => {
			worker.ending = undefined;
			throw this.failure(`worker ${worker.id} could not be ended`, error);
		});
		return worker.ending;
	}

	/** A start does not wait for many old files, nor for a folder that hangs. */
	protected pruneBeside(folder: string, prune: Prune): void {
		if (this.#pruned.has(folder)) return;
		this.#pruned.add(folder);
		const running = (): string[] => [...this.workers.keys(), ...this.starting];
		void prune(folder, { running, now: this.clock.wall() })
			.catch((error: unknown) => this.log(`old files in ${folder} were not removed: ${this.sentence(error)}`))
			.finally(() => this.#pruned.delete(folder));
	}

	/** Reports the exit once. */
	protected async report(worker: W, how: Partial<Exit>): Promise<void> {
		if (!this.isWatched(worker)) return;
		const lastOutput = how.lastOutput ?? (await tail(logPath(this.logDir, worker.id)));
		if (!this.isWatched(worker)) return;
		this.forget(worker);
		if (!this.isClosed) this.#exits.call({ workerId: worker.id, ...how, lastOutput });
	}

	/** What runs of the worker runs on. */
	protected forget(worker: W): void {
		if (this.isWatched(worker)) this.workers.delete(worker.id);
		worker.left.abort();
		worker.over.abort();
		worker.reported.resolve();
	}

	protected notice(worker: W, state: PlatformState): void {
		const text = JSON.stringify(state);
		if (worker.noticed === text || this.isClosed) return;
		worker.noticed = text;
		this.#notices.call({ workerId: worker.id, ...state });
	}

	protected failure(what: string, cause: unknown): Error {
		const Kind = this.isUnanswered(cause) ? PlatformUnavailable : Error;
		return new Kind(`${what}: ${this.sentence(cause)}`, { cause });
	}

	protected isUnanswered(error: unknown): boolean {
		return error instanceof PlatformUnavailable;
	}

	protected sentence(error: unknown): string {
		return error instanceof Error ? error.message : String(error);
	}
}
