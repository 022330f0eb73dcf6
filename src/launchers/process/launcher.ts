/**
 * Runs workers as local processes, each the leader of its own process group. They outlive the
 * service (D34).
 */
import { closeSync } from "node:fs";
import type { Exit, Launcher, WorkerSpec } from "../launcher.ts";
import { listeners } from "../listeners.ts";
import {
	endGroup,
	type Ending,
	groupRuns,
	identify,
	type Identity,
	identityOf,
	isRunning,
	SERVICE_VARIABLE,
	signal,
	WORKER_VARIABLE,
} from "./process-group.ts";
import { boundLog, logPath, openLog, pruneLogs, tail } from "../log-files.ts";
import type { LauncherDependencies } from "../definition.ts";
import { localGpus } from "../nvidia-smi.ts";
import type { ProcessSettings } from "./settings.ts";
import { memoryReason, oomKills } from "./out-of-memory.ts";
import { environmentOf, spawnWorker } from "./spawn.ts";
import { sweepStrays } from "./strays.ts";
import { isFirstInContainer, processTable } from "./process-table.ts";
import { usageReader } from "./usage.ts";

/** Poll interval of adopted workers, ms. */
const WATCH_MS = 500;
/** Check interval of log sizes, ms. */
const LOG_MS = 2000;

/** A watched worker, from start or adoption until its exit is reported. */
interface Worker extends Ending {
	readonly id: string;
	/** Not a child of this process, so its end is polled. */
	readonly adopted: boolean;
	/** The leader has ended. */
	left: boolean;
	/** Shared by concurrent stops. */
	ending: Promise<void> | undefined;
	/** Resolves when the exit was reported. */
	readonly reported: PromiseWithResolvers<void>;
	readonly watching: AbortController;
}

/**
 * The `process` launcher (D25). A handle is `{pid, startTime, boot}`. When a leader ends, the rest
 * of its group is killed before the exit is reported. On Linux, processes outside the group are
 * found by `RUNPOD_POD_ID` and `SLUICE_SERVICE_ID` in their environment. Without `logDir` output is
 * discarded.
 */
export function processLauncher({
	clock,
	logDir,
	volumeDir = "volumes",
	serviceEnv = {},
	log = () => {},
}: Pick<LauncherDependencies, "clock"> & Partial<LauncherDependencies>): Launcher {
	const workers = new Map<string, Worker>();
	const exits = listeners<[Exit]>("exits of workers", log);
	const closing = new AbortController();
	const usageOf = usageReader(() => clock.now());
	const gpusHere = localGpus(clock, serviceEnv);
	let closed = false;
	let bounding = false;
	/** `oomKills` when it was last read. */
	let killsBefore = 0;

	/** `environment`: that of the leader, as `NAME=value`. */
	function add(params: { id: string; leader: Identity; adopted: boolean; environment: readonly string[] }): Worker {
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
			// Aligned, so that hundreds of workers wake the service once per interval.
			await clock.sleep(WATCH_MS - (clock.now() % WATCH_MS), over);
			if (over.aborted) return;
			if (!isRunning(worker.leader)) return leave(worker, {});
		}
	}

	/** One timer for all workers. */
	async function boundLogs(folder: string): Promise<void> {
		bounding = true;
		let kills = oomKills();
		while (workers.size > 0 && !closed) {
			// Of the interval before: the exit is noticed some time after the kernel has counted.
			killsBefore = kills;
			kills = oomKills();
			await clock.sleep(LOG_MS, closing.signal);
			for (const id of workers.keys()) boundLog(logPath(folder, id));
		}
		bounding = false;
	}

	/** Joins a stop in progress; the shorter grace applies. */
	function end(worker: Worker, graceMs: number): Promise<void> {
		worker.graceLeftMs = Math.min(worker.graceLeftMs, graceMs);
		worker.ending ??= endGroup(clock, worker).catch((error: unknown) => {
			worker.ending = undefined;
			throw new Error(`worker ${worker.id} could not be ended`, { cause: error });
		});
		return worker.ending;
	}

	/** Ends the rest of the group of an ended leader and reports the exit, once. */
	async function leave(worker: Worker, how: { code?: number; signal?: string }): Promise<void> {
		if (worker.left) return;
		worker.left = true;
		const { graceLeftMs } = worker;
		worker.watching.abort();
		try {
			if (worker.ending || !closed) await (worker.ending ?? end(worker, 0));
		} catch (error) {
			log(`${String(error)}: ${String((error as Error).cause)}`);
		}
		workers.delete(worker.id);
		const lastOutput = logDir === undefined ? "" : tail(logPath(logDir, worker.id));
		const reason = memoryReason({ ...how, lastOutput }, oomKills() > killsBefore);
		if (!closed)
			exits.call({
				workerId: worker.id,
				...how,
				lastOutput,
				...(reason && graceLeftMs === Infinity && { reason }),
			});
		worker.reported.resolve();
	}

	return {
		name: "process",
		endsWithService: isFirstInContainer(process),

		async start(spec: WorkerSpec<ProcessSettings>) {
			if (logDir !== undefined) await pruneLogs(logDir, workers.keys(), clock.wall());
			if (workers.has(spec.workerId)) throw new Error(`worker ${spec.workerId} already runs`);
			const output = logDir === undefined ? "ignore" : openLog(logDir, spec.workerId);
			try {
				const env = environmentOf(spec, serviceEnv);
				const { child, pid } = await spawnWorker({ ...spec, env }, { output, volumeDir });
				// Not yet reaped by the event loop, so it exists even if already ended.
				let leader: Identity | undefined;
				try {
					leader = identify(pid);
				} finally {
					if (!leader) signal(-pid, "SIGKILL");
				}
				if (!leader) throw new Error(`process ${pid} of worker ${spec.workerId} is not in the system's list`);
				const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
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

		list: async () => [...workers.values()].filter((worker) => groupRuns(worker.leader)).map((worker) => worker.id),

		async usage(ids) {
			const leaders = new Map(
				ids.flatMap(({ id }) => {
					const worker = workers.get(id);
					return worker ? [[id, worker.leader] as const] : [];
				}),
			);
			const found = usageOf(leaders);
			const wanted = ids.some(({ gpus }) => gpus.length > 0);
			const known = wanted ? await gpusHere() : [];
			for (const { id, gpus } of ids) {
				const usage = found.get(id);
				const own = known.filter((gpu) => gpus.includes(Number(gpu.id)));
				if (usage && own.length > 0) usage.gpus = own;
			}
			return found;
		},

		async removeStrays({ serviceId }) {
			const known = [...workers.values()].map(({ leader }) => leader.pid);
			return (await sweepStrays({ clock, serviceId, known })).length;
		},

		onExit(listener) {
			exits.add(listener);
		},

		async close() {
			closed = true;
			closing.abort();
			for (const worker of workers.values()) worker.watching.abort();
		},
	};
}
