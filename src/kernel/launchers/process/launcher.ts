import type { ExitReason } from "../../core/workers/worker-reason.ts";
import type { MachineGpu } from "../../core/workers/gpus.ts";
import { MAPPING_VARIABLE } from "../../core/workers/worker-env.ts";
import type { WorkerUsage } from "../../core/workers/worker-usage.ts";
import type { LauncherDependencies } from "../definition.ts";
import {
	ADAPTER_COMMAND,
	type Exit,
	type Handle,
	type Launcher,
	type StraySearch,
	type WorkerCommand,
	type WorkerSpec,
} from "../launcher.ts";
import { adapterCommand } from "../adapter-program.ts";
import { logPath, openLog, tail } from "../logs/log-files.ts";
import { machineGpus } from "../machine-gpus.ts";
import { memoryByWorker } from "../nvidia-smi.ts";
import { WatchedWorker, WatchedWorkers } from "../watched-workers.ts";
import {
	endGroup,
	environmentAtStart,
	groupRuns,
	hasEnded,
	identify,
	type Identity,
	identityOf,
	isRunning,
	isStartedBy,
	SERVICE_VARIABLE,
	signal,
	sweepStrays,
	WORKER_VARIABLE,
} from "./process-group.ts";
import { isFirstInContainer, oomKills, processTable } from "./process-table.ts";
import type { ProcessSettings } from "./settings.ts";
import { environmentOf, spawnWorker, runBeside } from "./spawn.ts";
import { usageReader } from "./usage.ts";

/** Poll interval of adopted workers, ms. */
const WATCH_MS = 500;
/** Interval of the count of kills, ms. */
const KILLS_MS = 2000;

/** Exit code of an adapter or a shell whose child ended by SIGKILL. */
const KILLED = 137;

type Spec = WorkerSpec<ProcessSettings>;

class Worker extends WatchedWorker {
	readonly leader: Identity;
	/** Variables at its start, as `NAME=value`; some are secret. */
	readonly environment: readonly string[];
	/** Variables that identify its processes outside the group. */
	readonly marks: readonly string[];
	/** An adopted worker is not a child of this process, so its end is polled. */
	readonly isAdopted: boolean;
	hasLeft = false;

	constructor(q: { id: string; leader: Identity; isAdopted: boolean; environment: readonly string[] }) {
		super(q.id);
		this.leader = q.leader;
		this.environment = q.environment;
		this.isAdopted = q.isAdopted;
		const service = q.environment.find((entry) => entry.startsWith(`${SERVICE_VARIABLE}=`));
		const name = q.environment.find((entry) => entry === `${WORKER_VARIABLE}=${q.id}`);
		this.marks = service !== undefined && name !== undefined ? [service, name] : [];
	}

	get isAdapter(): boolean {
		return this.environment.some((entry) => entry.startsWith(`${MAPPING_VARIABLE}=`));
	}
}

/**
 * The `process` launcher (D25, D34). A handle is `{pid, startTime, boot}` of the leader of a process group. When a
 * leader ends, the rest of its group is killed before the exit is reported. On Linux, processes outside the group
 * are found by `RUNPOD_POD_ID` and `SLUICE_SERVICE_ID` in their environment.
 */
export class ProcessLauncher extends WatchedWorkers<Worker, Spec> implements Launcher {
	readonly name = "process";
	readonly endsWithService = isFirstInContainer(process);
	readonly #volumeDir: string;
	readonly #serviceEnv: Readonly<Record<string, string>>;
	readonly #gpuReadings;
	readonly #usageOf = usageReader(() => this.clock.now());
	#isCounting = false;
	#killsBefore = 0;

	constructor(d: Pick<LauncherDependencies, "clock" | "logDir"> & Partial<LauncherDependencies>) {
		super({ log: () => {}, ...d });
		this.#volumeDir = d.volumeDir ?? "volumes";
		this.#serviceEnv = d.serviceEnv ?? {};
		this.#gpuReadings = machineGpus(d.clock, this.#serviceEnv);
	}

	protected async begin(spec: Spec): Promise<Handle> {
		const { workerId: id } = spec;
		const output = await openLog(this.logDir, id);
		try {
			const env = await environmentOf(spec, this.#serviceEnv);
			const settings = spec.adapter ? withAdapter(spec.settings) : spec.settings;
			const { child, pid } = await spawnWorker({ settings, env }, { output: output.fd, volumeDir: this.#volumeDir });
			// The event loop has not reaped it yet, so it exists even if already ended.
			let leader: Identity | undefined;
			try {
				leader = identify(pid);
			} finally {
				if (!leader) signal(-pid, "SIGKILL");
			}
			if (!leader) throw new Error(`process ${pid} of worker ${id} is not in the system's list`);
			const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
			const worker = this.add(new Worker({ id, leader, isAdopted: false, environment }));
			child.once("exit", (code, killedBy) => {
				const how = { ...(code !== null && { code }), ...(killedBy !== null && { signal: killedBy }) };
				void this.#leave(worker, how);
			});
			return { ...leader };
		} finally {
			output.close().catch(() => {});
		}
	}

	async adopt(id: string, handle: Handle, serviceId: string): Promise<boolean> {
		const leader = identityOf(handle);
		if (!leader || !isRunning(leader)) return false;
		const environment = await environmentAtStart(this.clock, leader);
		if (this.workers.has(id)) return true;
		if (!isStartedBy(serviceId, { environment, handle })) {
			this.log(`worker ${id} was not adopted: process ${leader.pid} does not show that this service started it`);
			return false;
		}
		void this.#watch(this.add(new Worker({ id, leader, isAdopted: true, environment })));
		return true;
	}

	async run(id: string, q: WorkerCommand): Promise<void> {
		const worker = this.workers.get(id);
		if (!worker) throw new Error("it has ended.");
		const output = await openLog(this.logDir, id);
		try {
			const { pid } = worker.leader;
			const { environment } = worker;
			const [first, ...rest] = q.command;
			const command = worker.isAdapter && first === ADAPTER_COMMAND ? adapterCommand(rest) : q.command;
			const io = { output: output.fd, volumeDir: this.#volumeDir };
			await runBeside(this.clock, { pid, environment }, { ...q, command, ...io });
		} finally {
			output.close().catch(() => {});
		}
	}

	async list(): Promise<string[]> {
		return [...this.workers.values()].filter(({ leader }) => groupRuns(leader)).map(({ id }) => id);
	}

	async usage(ids: readonly { id: string; gpus: readonly number[] }[]): Promise<Map<string, WorkerUsage>> {
		const leaders = new Map(
			ids.flatMap(({ id }) => {
				const worker = this.workers.get(id);
				return worker ? [[id, worker.leader] as const] : [];
			}),
		);
		const found = unlessUnknown(() => this.#usageOf(leaders)) ?? new Map<string, WorkerUsage>();
		const isWanted = ids.some(({ gpus }) => gpus.length > 0);
		const known = isWanted ? await this.#gpuReadings.gpus() : [];
		for (const { id, gpus } of ids) {
			const usage = found.get(id);
			const own = known
				.filter((gpu) => gpus.includes(Number(gpu.id)))
				.map(({ id, model, memory, memoryUsed, busy }) => ({ id, model, memory, memoryUsed, busy }));
			if (usage && own.length > 0) usage.gpus = own;
		}
		return found;
	}

	machineGpus(): Promise<readonly MachineGpu[]> {
		return this.#gpuReadings.gpus();
	}

	async gpuMemory(ids: readonly string[]): Promise<Map<string, Map<string, number>>> {
		const processes = await this.#gpuReadings.processes();
		const workers = ids.flatMap((id) => this.workers.get(id) ?? []);
		return memoryByWorker(processes, (pid) => {
			const group = unlessUnknown(() => processTable.find(pid))?.pgid;
			const environment = new Set(unlessUnknown(() => processTable.environment(pid)));
			const isOf = ({ leader, marks }: Worker): boolean =>
				leader.pid === group || (marks.length > 0 && marks.every((mark) => environment.has(mark)));
			return workers.find(isOf)?.id;
		});
	}

	async removeStrays({ serviceId }: StraySearch): Promise<number> {
		const known = [...this.workers.values()].map(({ leader }) => leader.pid);
		return (await sweepStrays({ clock: this.clock, serviceId, known })).length;
	}

	protected async end(worker: Worker): Promise<void> {
		await endGroup(this.clock, worker);
		if (worker.isAdopted) void this.#leave(worker, {});
	}

	protected override add(worker: Worker): Worker {
		super.add(worker);
		if (!this.#isCounting) void this.#countKills();
		return worker;
	}

	async #watch(worker: Worker): Promise<void> {
		const { signal: over } = worker.left;
		while (!over.aborted) {
			// Aligned, so hundreds of workers wake the service once per interval.
			await this.clock.sleep(WATCH_MS - (this.clock.now() % WATCH_MS), over);
			if (over.aborted) return;
			if (hasEnded(worker.leader, isRunning)) return await this.#leave(worker, {});
		}
	}

	async #countKills(): Promise<void> {
		this.#isCounting = true;
		let kills = oomKills();
		while (this.workers.size > 0 && !this.isClosed) {
			// Kept from the interval before, since the exit is noticed some time after the kernel's count.
			this.#killsBefore = kills;
			kills = oomKills();
			await this.clock.sleep(KILLS_MS, this.closed.signal);
		}
		this.#isCounting = false;
	}

	/** Kills the rest of the group and reports the exit, once. */
	async #leave(worker: Worker, how: Pick<Exit, "code" | "signal">): Promise<void> {
		if (worker.hasLeft) return;
		worker.hasLeft = true;
		const isStopped = worker.graceLeftMs < Infinity;
		worker.left.abort();
		try {
			if (worker.ending || !this.isClosed) await (worker.ending ?? this.join(worker, 0));
		} catch (error) {
			this.log(String(error));
		}
		const lastOutput = await tail(logPath(this.logDir, worker.id));
		const reason = memoryReason({ ...how, lastOutput }, oomKills() > this.#killsBefore);
		await this.report(worker, { ...how, lastOutput, ...(reason && !isStopped && { reason }) });
	}
}

/** The adapter alone in the worker's process group: the server, its child, has one of its own. */
function withAdapter(settings: ProcessSettings): ProcessSettings {
	return { ...settings, command: adapterCommand(["--", ...settings.command]) };
}

/** Undefined where the system does not answer. */
function unlessUnknown<T>(ask: () => T): T | undefined {
	try {
		return ask();
	} catch {
		return undefined;
	}
}

/** `kills`: whether {@link oomKills} grew shortly before the end. */
function memoryReason(
	{ code, signal, lastOutput }: Pick<Exit, "code" | "signal" | "lastOutput">,
	kills: boolean,
): ExitReason | undefined {
	if ((signal === "SIGKILL" || code === KILLED) && kills)
		return {
			code: "out_of_memory",
			message:
				"it was killed by the kernel, which had run out of memory: give the machine or the cgroup more, " +
				"or lower workersMax",
			crash: true,
		};
	if (signal === "SIGABRT" && lastOutput.includes("JavaScript heap out of memory"))
		return {
			code: "out_of_memory",
			message: "its JavaScript heap was full: raise it in env, such as with NODE_OPTIONS: --max-old-space-size=4096",
			crash: true,
		};
	return undefined;
}
