import { join } from "node:path";
import type { LauncherDependencies } from "../../kernel/launchers/definition.ts";
import type { Handle, Launcher, RoomQuery, StraySearch } from "../../kernel/launchers/launcher.ts";
import { roomInPool } from "../../kernel/launchers/room.ts";
import { logPath, tail } from "../../kernel/launchers/logs/log-files.ts";
import { endInGrace, KILL_TIMEOUT_MS, WatchedWorkers } from "../../kernel/launchers/watched-workers.ts";
import { type RunCommand, slurmCommands, SlurmFailure } from "./commands.ts";
import { exitOf, faultIn, isActive, type JobRow, noticeOf, withoutNotes } from "./job-states.ts";
import { type SlurmQueue, slurmQueue } from "./queue.ts";
import { batchScript, folderOf, nameOf, ownerIn, sbatchOptions, type SlurmSpec } from "./script.ts";
import { type SharedAdapter, sharedAdapter } from "./shared-adapter.ts";
import {
	checkFolder,
	discardWorker,
	linkLog,
	mayHaveStarted,
	prepareWorker,
	pruneFolder,
	removeFile,
	type WorkerFile,
} from "./shared-folder.ts";
import type { SlurmSettings } from "./settings.ts";
import { waitsForOthers } from "./slurm-texts.ts";
import { Strays } from "./strays.ts";
import { handleOf, Worker } from "./worker.ts";

/** Interval of the query for all jobs, and while a worker is being stopped, ms. */
const QUERY_MS = 5000;
const STOP_QUERY_MS = 500;
/** Maximum age of a query that an adoption may use, ms. */
const ADOPT_MS = 2000;

/**
 * The `slurm` launcher (D25, D34). A handle is `{job, name, folder}` with settings for watching. Jobs are found by
 * their names, in one query for all. A controller that does not answer changes nothing.
 */
export class SlurmLauncher extends WatchedWorkers<Worker, SlurmSpec> implements Launcher {
	readonly name = "slurm";
	readonly #queryMs: number;
	readonly #queue: SlurmQueue;
	readonly #strays: Strays;
	readonly #adapter: SharedAdapter;
	/** Its unwatched jobs are cancelled. */
	#service: string | undefined;
	#isWatching = false;
	#isFailing = false;
	#wake = new AbortController();

	constructor(d: LauncherDependencies & { run?: RunCommand; queryMs?: number; adapter?: SharedAdapter }) {
		super(d);
		const { clock, log, run = slurmCommands(d.serviceEnv) } = d;
		this.#queryMs = d.queryMs ?? QUERY_MS;
		this.#adapter = d.adapter ?? sharedAdapter();
		this.#queue = slurmQueue({ clock, run });
		this.#strays = new Strays({ queue: this.#queue, clock, log, fileOf: (name) => this.#fileOfStray(name) });
	}

	protected async begin(spec: SlurmSpec): Promise<Handle> {
		const { workerId, endpoint, settings, serviceId } = spec;
		const { logDir } = this;
		this.#service = serviceId;
		this.owned.set(endpoint, settings);
		await this.#strays.swept();
		const folder = folderOf(spec);
		await checkFolder(settings.sharedDir, folder);
		this.pruneBeside(folder, pruneFolder);
		const adapter = spec.adapter && (settings.adapterCommand ?? (await this.#adapter.commandFor(spec)));
		await prepareWorker(spec, logDir);
		const job = await this.#submit(spec, adapter).catch(async (error: unknown) => {
			await discardWorker(spec, logDir);
			throw error;
		});
		const handle = handleOf(spec, { job, folder });
		this.add(new Worker(workerId, handle)).isSeen = true;
		return handle;
	}

	async adopt(workerId: string, handle: Handle, serviceId: string): Promise<boolean> {
		const { job, name, folder } = handle;
		if (typeof job !== "string" || typeof folder !== "string") return false;
		const owner = ownerIn(String(name));
		if (owner?.workerId !== workerId || owner.serviceId !== serviceId) return false;
		if (this.workers.get(workerId)?.job === job) return true;
		const worker = new Worker(workerId, handle);
		try {
			// Only a new answer has a job that another server has just submitted.
			const row = (await this.#queue.recentRows(ADOPT_MS)).get(job) ?? (await this.#queue.rows()).get(job);
			if (row?.name !== name || !isActive(row!.state)) {
				await removeFile({ folder, id: workerId });
				return false;
			}
			worker.isSeen = true;
		} catch (error) {
			// The worker's pings show whether it runs, until the queue can be read again.
			this.log(`worker ${workerId} is adopted without an answer of Slurm: ${this.sentence(error)}`);
		}
		try {
			await checkFolder(join(folder, "..", ".."), folder);
			await linkLog({ folder, workerId, logDir: this.logDir });
		} catch (error) {
			this.log(`the log of worker ${workerId} is not readable here: ${this.sentence(error)}`);
		}
		this.add(worker);
		return true;
	}

	async list(): Promise<string[]> {
		if (this.workers.size === 0) return [];
		const rows = await this.#queue.rows();
		return [...this.workers.values()].filter(({ job }) => isActive(rows.get(job)?.state ?? "")).map(({ id }) => id);
	}

	roomFor(q: RoomQuery): string[] {
		if (!waitsForOthers(q.waiting.message)) return [];
		return roomInPool(q, (settings) => {
			const { partition, gpuType, constraint } = settings as SlurmSettings;
			return [partition, gpuType, constraint];
		});
	}

	async removeStrays({ serviceId, recorded, endpoints, scales = () => true }: StraySearch): Promise<number> {
		this.#service = serviceId;
		this.scales = scales;
		for (const { id, settings } of endpoints) this.owned.set(id, settings as SlurmSettings);
		this.#strays.forgetSweep();
		// Most services use no Slurm, so it is not called.
		if (recorded.length === 0) return 0;
		// The service may have been killed while `sbatch` ran, which goes on.
		this.#expectLate();
		try {
			return await this.#strays.swept();
		} catch (error) {
			this.log(`jobs left behind were not cancelled: ${this.sentence(error)}`);
			return 0;
		}
	}

	release(endpoint: string): void {
		this.owned.delete(endpoint);
		for (const worker of this.workers.values()) if (ownerIn(worker.name)?.endpoint === endpoint) this.forget(worker);
	}

	override async close(): Promise<void> {
		await super.close();
		this.#wake.abort();
	}

	protected override join(worker: Worker, graceMs: number): Promise<void> {
		const ending = super.join(worker, graceMs);
		this.#wake.abort();
		return ending;
	}

	protected async end(worker: Worker): Promise<void> {
		const { job, step, over } = worker;
		// Job ids are used again: after an adoption without an answer nothing is signalled before the queue was read.
		if (!worker.isSeen && (await this.#queue.rows()).get(job)?.name !== worker.name)
			throw new Error(`Slurm does not show its job ${job}`);
		await endInGrace(this.clock, worker, {
			terminate: async () => {
				const started = await mayHaveStarted(worker);
				await this.#queue.terminate(job, { step, started });
				this.#wake.abort();
				// A job that runs takes no signal before its batch script does.
				return started;
			},
			hasEnded: () => worker.hasEnded,
			signal: over.signal,
		});
		if (worker.hasEnded) return;
		await this.#queue.kill(job, { started: await mayHaveStarted(worker) });
		// The watchdog ends what Slurm has no record of. After it nothing runs that a cancelled job would hide.
		await this.#tryToRemoveFile(worker);
		this.#wake.abort();
		await this.clock.sleep(KILL_TIMEOUT_MS / 2, over.signal);
		// A job takes no signal while it is suspended or before its batch script runs.
		if (!worker.hasEnded) await this.#queue.cancel(job);
		await this.clock.sleep(KILL_TIMEOUT_MS / 2, over.signal);
		if (!worker.hasEnded) throw new Error(`its Slurm job ${job} still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL`);
	}

	protected override isUnanswered(error: unknown): boolean {
		return error instanceof SlurmFailure && error.isUnanswered;
	}

	/** If the answer is lost, the queue shows whether the job was accepted. */
	async #submit(spec: SlurmSpec, adapter?: readonly string[]): Promise<string> {
		try {
			return await this.#queue.submit(sbatchOptions(spec), batchScript(spec, adapter));
		} catch (error) {
			if (!(error instanceof SlurmFailure) || error.fault !== "answer_lost") throw error;
			this.#expectLate();
			// Makes the next start sweep first.
			this.#strays.forgetSweep();
			const rows = await this.#queue.rows().catch(() => undefined);
			const found = [...(rows?.values() ?? [])].find(({ name }) => name === nameOf(spec));
			if (found && isActive(found.state)) return found.id;
			throw error;
		}
	}

	#fileOfStray(name: string): WorkerFile | undefined {
		const owner = ownerIn(name);
		if (owner?.serviceId !== this.#service || !owner || !this.owns(owner.endpoint)) return undefined;
		if (this.knows(owner.workerId)) return undefined;
		return { id: owner.workerId, folder: folderOf({ ...owner, settings: this.owned.get(owner.endpoint)! }) };
	}

	#expectLate(): void {
		this.#strays.expectLate();
		void this.#watch();
	}

	protected override add(worker: Worker): Worker {
		super.add(worker);
		void this.#watch();
		return worker;
	}

	async #watch(): Promise<void> {
		if (this.#isWatching) return;
		this.#isWatching = true;
		while (this.workers.size > 0 || (!this.isClosed && this.#strays.mayBeLeft)) {
			this.#wake = new AbortController();
			await this.#query();
			const isStopping = [...this.workers.values()].some(({ ending }) => ending !== undefined);
			await this.clock.sleep(isStopping ? Math.min(this.#queryMs, STOP_QUERY_MS) : this.#queryMs, this.#wake.signal);
		}
		this.#isWatching = false;
	}

	async #query(): Promise<void> {
		// A job submitted during the query may be missing in its answer.
		const watched = [...this.workers.values()];
		let fault: string | undefined;
		try {
			const rows = await this.#queue.rows();
			for (const worker of watched)
				await this.#update(worker, rows).catch((error: unknown) => {
					if (this.isUnanswered(error)) throw error;
					// The shared folder of some workers fails, not the queue.
					fault = `worker ${worker.id} is not watched, trying again: ${this.sentence(error)}`;
				});
			await this.#strays.cancel(rows);
		} catch (error) {
			fault = `the queue could not be read, trying again: ${this.sentence(error)}`;
		}
		if (fault !== undefined && !this.#isFailing) this.log(fault);
		this.#isFailing = fault !== undefined;
	}

	async #update(worker: Worker, rows: ReadonlyMap<string, JobRow>): Promise<void> {
		if (!this.isWatched(worker)) return;
		const row = worker.rowIn(rows);
		if (row && isActive(row.state)) {
			const { id, job, hasLostStart } = worker;
			if (!(await worker.isOutdated(row))) this.notice(worker, noticeOf(row, worker.drainBeforeS));
			// At once, because Slurm corrects its state soon.
			else if (!worker.hasLostStart) this.#wake.abort();
			else if (!hasLostStart)
				this.log(`Slurm has no record of the start of worker ${id}, and ends it to start job ${job} again`);
		} else if (row || (await worker.isLost(this.clock.now()))) await this.#finish(worker, row !== undefined);
	}

	/** `isPresent`: whether the queue shows the job. Throws if the controller does not answer. */
	async #finish(worker: Worker, isPresent: boolean): Promise<void> {
		const { id, job, name, folder, program } = worker;
		const end = (await this.#queue.endOf(job, name)) ?? { state: isPresent ? "COMPLETED" : "UNKNOWN" };
		if (!this.isWatched(worker)) return;
		const { reason, ...how } = exitOf(end, job, worker);
		// Where Slurm has no record, only the absence of the file keeps the job from running again.
		const isUnread = await (isPresent ? this.#tryToRemoveFile(worker) : removeFile(worker));
		const output = await tail(logPath(this.logDir, id));
		const why = reason ?? faultIn(output, { job, end, program, unreadIn: isUnread ? folder : undefined });
		const isStopped = worker.ending !== undefined;
		await this.report(worker, { ...how, lastOutput: withoutNotes(output), ...(why && !isStopped && { reason: why }) });
	}

	/** Jobs that Slurm shows end, and have ended, without an answer of the shared folder. */
	async #tryToRemoveFile(worker: Worker): Promise<boolean> {
		return await removeFile(worker).catch((error: unknown) => {
			this.log(`the file of worker ${worker.id} was not removed: ${this.sentence(error)}`);
			return false;
		});
	}
}
