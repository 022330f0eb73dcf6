/**
 * Runs workers as batch jobs of Slurm, found by their names. They outlive the service (D25, D34).
 */
import { join } from "node:path";
import type { LauncherDependencies } from "../definition.ts";
import { type Exit, type Launcher, type Notice, PlatformUnavailable, type WorkerSpec } from "../launcher.ts";
import { listeners } from "../listeners.ts";
import { boundLog, logPath, tail } from "../log-files.ts";
import { type RunCommand, slurmCommands, SlurmFailure } from "./commands.ts";
import { exitOf, faultIn, isActive, isWaiting, type JobRow, noticeOf, withoutNotes } from "./job-states.ts";
import { slurmQueue } from "./queue.ts";
import { batchScript, folderOf, nameOf, ownerIn, sbatchOptions, WATCHDOG_MS } from "./script.ts";
import {
	checkFolder,
	discardWorker,
	hasStarted,
	linkLog,
	prepareWorker,
	pruneFolder,
	removeFile,
} from "./shared-folder.ts";
import type { SlurmSettings } from "./settings.ts";

/** Interval of the query for all jobs, ms; shorter while a worker is being stopped. */
const QUERY_MS = 5000;
const STOP_QUERY_MS = 500;
/** An adoption may use a query of this age, ms. */
const ADOPT_MS = 2000;
/** Step of the grace countdown, ms: the delay until a shortened grace takes effect. */
const STEP_MS = 25;
/** Limit for a job to end after SIGKILL, ms. */
const KILL_TIMEOUT_MS = 10_000;
/** Queries without a job until it counts as ended. */
const MISSING_QUERIES = 2;
const DRAIN_BEFORE_S = 300;
/** A submission whose answer was lost may be accepted so much later, ms. */
const LATE_MS = 60_000;

/** A watched worker, from start or adoption until its exit is reported. */
interface Worker {
	readonly id: string;
	readonly job: string;
	/** The job's name: ids are reused. */
	readonly name: string;
	readonly folder: string;
	readonly drainBeforeS: number;
	readonly memory: string | undefined;
	/** The step of the job that the worker runs in; absent: its batch script. */
	readonly step: number | undefined;
	/** Queries in a row that did not show its job. */
	missing: number;
	/** When its file was removed, since Slurm has no record of its job. */
	lostAt: number | undefined;
	/** The last notice, as text. */
	noticed: string;
	graceLeftMs: number;
	/** Shared by concurrent stops. */
	ending: Promise<void> | undefined;
	/** Aborted when the job has ended. */
	readonly over: AbortController;
	/** Resolves when the exit was reported. */
	readonly reported: PromiseWithResolvers<void>;
}

/**
 * The `slurm` launcher (D25). A handle is `{job, name, folder}`, with the settings that it needs while it
 * is watched. One query shows all jobs; a controller that does not answer changes nothing.
 */
export function slurmLauncher({
	clock,
	logDir,
	serviceEnv,
	log,
	run = slurmCommands(serviceEnv),
	queryMs = QUERY_MS,
}: LauncherDependencies & { run?: RunCommand; queryMs?: number }): Launcher {
	const queue = slurmQueue({ clock, run });
	const workers = new Map<string, Worker>();
	/** Workers whose start is in progress. */
	const starting = new Set<string>();
	const exits = listeners<[Exit]>("exits of workers", log);
	const notices = listeners<[Notice]>("notices of workers", log);
	let swept: Promise<number> | undefined;
	/** Jobs of this service and these endpoints that are not watched are cancelled. */
	let service: string | undefined;
	const owned = new Map<string, SlurmSettings>();
	let scales = (_endpoint: string): boolean => true;
	let watching = false;
	/** Until then the queue is read for jobs of lost submissions, also without workers. */
	let lateUntil = -Infinity;
	let wake = new AbortController();
	let closed = false;
	let unreachable = false;

	function add(id: string, handle: Record<string, string | number>): void {
		const { job, name, folder, drainBefore, memory, step } = handle;
		workers.set(id, {
			id,
			job: String(job),
			name: String(name),
			folder: String(folder),
			drainBeforeS: Number(drainBefore ?? DRAIN_BEFORE_S),
			memory: memory === undefined ? undefined : String(memory),
			step: step === undefined ? undefined : Number(step),
			missing: 0,
			lostAt: undefined,
			noticed: "",
			graceLeftMs: Infinity,
			ending: undefined,
			over: new AbortController(),
			reported: Promise.withResolvers(),
		});
		if (!watching) void watch();
	}

	async function watch(): Promise<void> {
		watching = true;
		while (workers.size > 0 || (!closed && clock.now() < lateUntil)) {
			wake = new AbortController();
			await query();
			const stopping = [...workers.values()].some(({ ending }) => ending !== undefined);
			await clock.sleep(stopping ? Math.min(queryMs, STOP_QUERY_MS) : queryMs, wake.signal);
		}
		watching = false;
	}

	async function query(): Promise<void> {
		// A job that is submitted during the query need not be in its answer.
		const watched = [...workers.values()];
		try {
			const rows = await queue.rows();
			for (const worker of watched) await update(worker, rows.get(worker.job));
			await cancelUnknown(rows);
			unreachable = false;
		} catch (error) {
			if (!unreachable) log(`the queue could not be read, trying again: ${sentence(error)}`);
			unreachable = true;
		}
		for (const { id } of watched) boundLog(logPath(logDir, id));
	}

	function expectLate(): void {
		lateUntil = clock.now() + LATE_MS;
		if (!watching) void watch();
	}

	async function update(worker: Worker, row: JobRow | undefined): Promise<void> {
		if (workers.get(worker.id) !== worker) return;
		const present = row?.name === worker.name;
		worker.missing = present ? 0 : worker.missing + 1;
		if (!present && !isLost(worker)) return;
		if (!present || !isActive(row.state)) return await finish(worker, present);
		notice(worker, row);
	}

	/** Whether Slurm has lost the record of the job, and the watchdog has ended what may still run. */
	function isLost(worker: Worker): boolean {
		if (worker.missing < MISSING_QUERIES) return false;
		if (worker.lostAt === undefined && !hasStarted(worker)) return true;
		removeFile(worker);
		worker.lostAt ??= clock.now();
		return clock.now() - worker.lostAt >= WATCHDOG_MS;
	}

	function notice(worker: Worker, row: JobRow): void {
		const { id, drainBeforeS } = worker;
		// The controller restarted with an old state: Slurm shows within seconds what is true.
		if (isWaiting(row.state) && hasStarted(worker)) return;
		const next = { workerId: id, ...noticeOf(row, drainBeforeS) };
		const text = JSON.stringify(next);
		if (worker.noticed === text || closed) return;
		worker.noticed = text;
		notices.call(next);
	}

	/** `present`: whether the queue shows the job. Throws if the controller does not answer. */
	async function finish(worker: Worker, present: boolean): Promise<void> {
		const { id, job, name, folder, memory } = worker;
		const end = (await queue.endOf(job, name)) ?? { state: present ? "COMPLETED" : "UNKNOWN" };
		if (workers.get(id) !== worker) return;
		const { reason, ...how } = exitOf(end, { job, memory });
		const unread = removeFile(worker);
		const output = tail(logPath(logDir, id));
		const unreadIn = unread ? folder : undefined;
		const why = reason ?? faultIn(output, { job, end, memory, unreadIn });
		worker.over.abort();
		workers.delete(id);
		const stopped = worker.ending !== undefined;
		const lastOutput = withoutNotes(output);
		if (!closed) exits.call({ workerId: id, ...how, lastOutput, ...(why && !stopped && { reason: why }) });
		worker.reported.resolve();
	}

	/** Cancels jobs of this service that are not watched: a lost answer of `sbatch`, a crash. */
	async function cancelUnknown(rows: Map<string, JobRow>): Promise<number> {
		const strays = [...rows.values()].filter(({ name, state }) => {
			const owner = ownerIn(name);
			return (
				!closed &&
				owner !== undefined &&
				owner.serviceId === service &&
				owned.has(owner.endpoint) &&
				scales(owner.endpoint) &&
				isActive(state) &&
				state !== "COMPLETING" &&
				!workers.has(owner.workerId) &&
				!starting.has(owner.workerId)
			);
		});
		for (const { id, name } of strays) {
			const { serviceId, endpoint, workerId } = ownerIn(name)!;
			const file = { id: workerId, folder: folderOf({ settings: owned.get(endpoint)!, serviceId, endpoint }) };
			await queue.kill(id, { started: hasStarted(file) });
			removeFile(file);
		}
		return strays.length;
	}

	function sweep(): Promise<number> {
		swept = queue.rows().then(cancelUnknown);
		swept.catch(() => (swept = undefined));
		return swept;
	}

	/** Joins a stop in progress; the shorter grace applies. */
	function end(worker: Worker, graceMs: number): Promise<void> {
		worker.graceLeftMs = Math.min(worker.graceLeftMs, graceMs);
		worker.ending ??= graceThenKill(worker).catch((error: unknown) => {
			worker.ending = undefined;
			throw failure(`worker ${worker.id} could not be ended`, error);
		});
		wake.abort();
		return worker.ending;
	}

	async function graceThenKill(worker: Worker): Promise<void> {
		const { job, over } = worker;
		if (worker.graceLeftMs > 0) await queue.terminate(job, { step: worker.step, started: hasStarted(worker) });
		wake.abort();
		while (worker.graceLeftMs > 0 && !over.signal.aborted) {
			await clock.sleep(Math.min(STEP_MS, worker.graceLeftMs), over.signal);
			worker.graceLeftMs -= STEP_MS;
		}
		if (over.signal.aborted) return;
		await queue.kill(job, { started: hasStarted(worker) });
		// Its watchdog ends what Slurm has no record of; then nothing runs that a cancelled job would hide.
		removeFile(worker);
		wake.abort();
		await clock.sleep(KILL_TIMEOUT_MS / 2, over.signal);
		// Before its batch script runs, and while it is suspended, a job takes no signal.
		if (!over.signal.aborted) await queue.cancel(job);
		await clock.sleep(KILL_TIMEOUT_MS / 2, over.signal);
		if (!over.signal.aborted)
			throw new Error(`its Slurm job ${job} still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL`);
	}

	/** Submits the job. If the answer is lost, the queue says whether it was accepted. */
	async function submit(spec: WorkerSpec<SlurmSettings>): Promise<string> {
		try {
			return await queue.submit(sbatchOptions(spec), batchScript(spec));
		} catch (error) {
			if (!(error instanceof SlurmFailure) || !error.answerLost) throw error;
			expectLate();
			// The next start sweeps first.
			swept = undefined;
			const rows = await queue.rows().catch(() => undefined);
			const found = [...(rows?.values() ?? [])].find(({ name }) => name === nameOf(spec));
			if (found && isActive(found.state)) return found.id;
			throw error;
		}
	}

	return {
		name: "slurm",

		async start(spec: WorkerSpec<SlurmSettings>) {
			const { workerId, endpoint, settings, serviceId } = spec;
			if (workers.has(workerId) || starting.has(workerId)) throw new Error(`worker ${workerId} already runs`);
			starting.add(workerId);
			try {
				service = serviceId;
				owned.set(endpoint, settings);
				await (swept ?? sweep());
				const folder = folderOf(spec);
				checkFolder(settings.sharedDir, folder);
				const running = [...workers.keys(), ...starting];
				await pruneFolder(folder, { running, logDir, now: clock.wall() });
				prepareWorker(spec, logDir);
				const job = await submit(spec).catch((error: unknown) => {
					discardWorker(spec, logDir);
					throw error;
				});
				const { drainBefore, memory, container } = settings;
				const handle = {
					job,
					name: nameOf(spec),
					folder,
					...(container === "pyxis" && { step: 0 }),
					...(drainBefore !== undefined && { drainBefore }),
					...(memory !== undefined && { memory }),
				};
				add(workerId, handle);
				return handle;
			} catch (error) {
				throw failure(`cannot start a worker of endpoint "${endpoint}"`, error);
			} finally {
				starting.delete(workerId);
			}
		},

		async adopt(workerId, handle) {
			const { job, name, folder } = handle;
			if (typeof job !== "string" || typeof folder !== "string") return false;
			if (ownerIn(String(name))?.workerId !== workerId) return false;
			if (workers.get(workerId)?.job === job) return true;
			try {
				// One that another server has just submitted is in a new answer only.
				const row = (await queue.recentRows(ADOPT_MS)).get(job) ?? (await queue.rows()).get(job);
				if (row?.name !== name || !isActive(row!.state)) {
					removeFile({ folder, id: workerId });
					return false;
				}
			} catch (error) {
				// Its pings show whether it runs; the queue decides when it can be read again.
				log(`worker ${workerId} is adopted without an answer of Slurm: ${sentence(error)}`);
			}
			try {
				checkFolder(join(folder, "..", ".."), folder);
				linkLog({ folder, workerId, logDir });
			} catch (error) {
				log(`the log of worker ${workerId} is not readable here: ${sentence(error)}`);
			}
			add(workerId, handle);
			return true;
		},

		async stop(workerId, graceMs) {
			const worker = workers.get(workerId);
			if (!worker) return;
			await end(worker, graceMs);
			await worker.reported.promise;
		},

		async list() {
			if (workers.size === 0) return [];
			const rows = await queue.rows();
			return [...workers.values()].filter(({ job }) => isActive(rows.get(job)?.state ?? "")).map(({ id }) => id);
		},

		async removeStrays({ serviceId, recorded, endpoints, scales: isScaled = () => true }) {
			service = serviceId;
			scales = isScaled;
			for (const { id, settings } of endpoints) owned.set(id, settings as SlurmSettings);
			swept = undefined;
			// Most services use no Slurm: do not call it.
			if (recorded.length === 0) return 0;
			// The service may have been killed while sbatch ran, which goes on.
			expectLate();
			try {
				return await sweep();
			} catch (error) {
				log(`jobs left behind were not cancelled: ${sentence(error)}`);
				return 0;
			}
		},

		release(endpoint) {
			owned.delete(endpoint);
			for (const worker of [...workers.values()])
				if (ownerIn(worker.name)?.endpoint === endpoint) {
					workers.delete(worker.id);
					worker.over.abort();
					worker.reported.resolve();
				}
		},

		onExit(listener) {
			exits.add(listener);
		},

		onNotice(listener) {
			notices.add(listener);
		},

		async close() {
			closed = true;
			for (const worker of workers.values()) if (!worker.ending) workers.delete(worker.id);
			wake.abort();
		},
	};
}

function failure(what: string, cause: unknown): Error {
	const Kind = cause instanceof SlurmFailure && cause.isUnanswered ? PlatformUnavailable : Error;
	return new Kind(`${what}: ${sentence(cause)}`, { cause });
}

function sentence(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
