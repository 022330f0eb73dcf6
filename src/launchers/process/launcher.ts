/**
 * Runs workers as processes of this machine, each the leader of its own process group. They outlive
 * the service (D34).
 */
import { closeSync } from "node:fs";
import type { Clock } from "../../clock.ts";
import type { Exit, Launcher } from "../launcher.ts";
import {
	endGroup,
	groupRuns,
	identify,
	identityOf,
	isRunning,
	SERVICE_VARIABLE,
	signal,
	WORKER_VARIABLE,
} from "./process-group.ts";
import type { Ending, Identity } from "./process-group.ts";
import { boundLog, logPath, openLog, pruneLogs, tail } from "./output.ts";
import { spawnWorker } from "./spawn.ts";
import { processTable } from "./process-table.ts";

/** How often an adopted worker is looked at, in ms: its end is not told. */
const WATCH_MS = 500;
/** How often the sizes of all logs are looked at, in ms. */
const LOG_MS = 2000;

/** What the process launcher needs. */
export interface ProcessLauncherOptions {
	clock: Clock;
	/**
	 * Folder for one log file per worker, of the launcher's own; kept for 24 h after their last line.
	 * Without it output is thrown away.
	 */
	logDir?: string;
	/** Takes a sentence about something that went wrong and that no call could report. */
	log?: (message: string) => void;
}

/** A worker under watch, from its start or adoption until its exit is reported. */
interface Worker extends Ending {
	readonly id: string;
	/** Not a child of this process: its end is not told, it must be looked for. */
	readonly adopted: boolean;
	/** Set once the leader is known to have ended. */
	left: boolean;
	/** The end under way, shared by all who ask for it. */
	ending: Promise<void> | undefined;
	/** Resolves when its exit was reported. */
	readonly reported: PromiseWithResolvers<void>;
	/** Ends the watch over an adopted one. */
	readonly watching: AbortController;
}

/**
 * The `process` launcher (D25). A handle is `{pid, startTime, boot}`. When a leader ends by itself,
 * what is left of its group is killed before the exit is reported. `stop` rejects only when
 * something survives SIGKILL by 10 s; a shorter grace shortens a stop under way. With
 * `RUNPOD_POD_ID` and `SLUICE_SERVICE_ID` in its environment a worker's processes are found on
 * Linux even when they left its group. Stops under way go on after `close`.
 */
export function processLauncher({
	clock,
	logDir,
	log = () => {},
}: ProcessLauncherOptions): Launcher {
	const workers = new Map<string, Worker>();
	const listeners: ((exit: Exit) => void)[] = [];
	const closing = new AbortController();
	let closed = false;
	let bounding = false;

	/** Takes a worker under watch. `environment` is that of its leader, as `NAME=value`. */
	function add(params: {
		id: string;
		leader: Identity;
		adopted: boolean;
		environment: readonly string[];
	}): Worker {
		const { id, leader, adopted, environment } = params;
		const service = environment.find((entry) => entry.startsWith(`${SERVICE_VARIABLE}=`));
		const name = environment.find((entry) => entry === `${WORKER_VARIABLE}=${id}`);
		const worker: Worker = {
			id,
			leader,
			adopted,
			marks: service !== undefined && name !== undefined ? [service, name] : [],
			graceLeftMs: Infinity,
			left: false,
			ending: undefined,
			reported: Promise.withResolvers(),
			watching: new AbortController(),
		};
		workers.set(id, worker);
		if (adopted) void watch(worker);
		if (logDir !== undefined && !bounding) void boundLogs(logDir);
		return worker;
	}

	async function watch(worker: Worker): Promise<void> {
		const over = worker.watching.signal;
		while (!over.aborted) {
			// All at the same moments: hundreds of workers then wake the service once, not each by
			// itself.
			await clock.sleep(WATCH_MS - (clock.now() % WATCH_MS), over);
			if (over.aborted) return;
			if (!isRunning(worker.leader)) return leave(worker, {});
		}
	}

	/** Keeps the logs within their bound while there are workers: one timer for all of them. */
	async function boundLogs(folder: string): Promise<void> {
		bounding = true;
		while (workers.size > 0 && !closed) {
			await clock.sleep(LOG_MS, closing.signal);
			for (const id of workers.keys()) boundLog(logPath(folder, id));
		}
		bounding = false;
	}

	/** Ends the worker's group, or joins the end under way; the shorter grace counts. */
	function end(worker: Worker, graceMs: number): Promise<void> {
		worker.graceLeftMs = Math.min(worker.graceLeftMs, graceMs);
		worker.ending ??= endGroup(clock, worker).catch((error: unknown) => {
			worker.ending = undefined;
			throw new Error(`worker ${worker.id} could not be ended`, { cause: error });
		});
		return worker.ending;
	}

	/** The leader ended: clears up after it and reports its exit, once. */
	async function leave(worker: Worker, how: { code?: number; signal?: string }): Promise<void> {
		if (worker.left) return;
		worker.left = true;
		worker.watching.abort();
		try {
			if (worker.ending || !closed) await (worker.ending ?? end(worker, 0));
		} catch (error) {
			log(`${String(error)}: ${String((error as Error).cause)}`);
		}
		workers.delete(worker.id);
		if (!closed)
			report({
				workerId: worker.id,
				...how,
				lastOutput: logDir === undefined ? "" : tail(logPath(logDir, worker.id)),
			});
		worker.reported.resolve();
	}

	function report(exit: Exit): void {
		for (const listener of listeners) {
			try {
				listener(exit);
			} catch (error) {
				log(`a listener for the exit of worker ${exit.workerId} failed: ${String(error)}`);
			}
		}
	}

	return {
		name: "process",

		async start(spec) {
			if (logDir !== undefined) await pruneLogs(logDir, workers.keys(), clock.now());
			if (workers.has(spec.workerId)) throw new Error(`worker ${spec.workerId} already runs`);
			const output = logDir === undefined ? "ignore" : openLog(logDir, spec.workerId);
			try {
				const { child, pid } = await spawnWorker(spec, output);
				// Not yet collected by the event loop, so it is there even if it has ended already.
				let leader: Identity | undefined;
				try {
					leader = identify(pid);
				} finally {
					if (!leader) signal(-pid, "SIGKILL");
				}
				if (!leader)
					throw new Error(`process ${pid} of worker ${spec.workerId} is not in the system's list`);
				const environment = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`);
				const worker = add({ id: spec.workerId, leader, adopted: false, environment });
				child.once("exit", (code, killedBy) => {
					void leave(worker, {
						...(code !== null && { code }),
						...(killedBy !== null && { signal: killedBy }),
					});
				});
				return { ...leader };
			} finally {
				if (output !== "ignore") closeSync(output);
			}
		},

		async adopt(workerId, handle) {
			const leader = identityOf(handle);
			if (!leader || !isRunning(leader)) return false;
			if (workers.has(workerId)) return true;
			add({
				id: workerId,
				leader,
				adopted: true,
				environment: processTable.environment(leader.pid),
			});
			return true;
		},

		async stop(workerId, graceMs) {
			const worker = workers.get(workerId);
			if (!worker) return;
			await end(worker, graceMs);
			if (worker.adopted) void leave(worker, {});
			await worker.reported.promise;
		},

		list: async () =>
			[...workers.values()].filter((worker) => groupRuns(worker.leader)).map((worker) => worker.id),

		onExit(listener) {
			listeners.push(listener);
		},

		async close() {
			closed = true;
			closing.abort();
			for (const worker of workers.values()) worker.watching.abort();
		},
	};
}
