import type { LocalMs } from "../../kernel/lib/time.ts";
import type { Handle } from "../../kernel/launchers/launcher.ts";
import { WatchedWorker } from "../../kernel/launchers/watched-workers.ts";
import { isWaiting, type JobRow } from "./job-states.ts";
import { nameOf, type SlurmSpec, WATCHDOG_MS } from "./script.ts";
import { hasStarted, removeFile } from "./shared-folder.ts";

/** Consecutive queries without the job until it counts as ended. */
const MISSING_QUERIES = 2;
const DRAIN_BEFORE_S = 300;

export class Worker extends WatchedWorker {
	readonly job: string;
	/** Name of the job, compared because Slurm reuses job ids. */
	readonly name: string;
	readonly folder: string;
	readonly drainBeforeS: number;
	/** Undefined if an earlier version has started it. */
	readonly program: string | undefined;
	/** Undefined: the worker, or its adapter, runs in the batch script. */
	readonly step: number | undefined;
	/** Whether the queue has shown the job with this name. */
	isSeen = false;
	/** Whether the queue has shown the job as waiting after its start, because the controller lost the record of it. */
	hasLostStart = false;
	#hasStarted = false;
	#missing = 0;
	/** When the worker's file was removed because Slurm has no record of its job. */
	#lostAt: LocalMs | undefined;

	constructor(id: string, { job, name, folder, drainBefore, program, step }: Handle) {
		super(id);
		this.job = String(job);
		this.name = String(name);
		this.folder = String(folder);
		this.drainBeforeS = Number(drainBefore ?? DRAIN_BEFORE_S);
		this.program = program === undefined ? undefined : String(program);
		this.step = step === undefined ? undefined : Number(step);
	}

	rowIn(rows: ReadonlyMap<string, JobRow>): JobRow | undefined {
		const row = rows.get(this.job);
		const isIts = row?.name === this.name;
		this.isSeen ||= isIts;
		this.#missing = isIts ? 0 : this.#missing + 1;
		return isIts ? row : undefined;
	}

	/** Whether Slurm has lost the job's record and the watchdog has ended what may still run. */
	async isLost(now: LocalMs): Promise<boolean> {
		if (this.#missing < MISSING_QUERIES) return false;
		if (this.#lostAt === undefined && !(await hasStarted(this))) return true;
		await removeFile(this);
		this.#lostAt ??= now;
		return now - this.#lostAt >= WATCHDOG_MS;
	}

	/**
	 * Whether the controller restarted with an old state, which Slurm corrects within seconds: it ends the worker and
	 * starts the job again. A job may have started since the query, so only a later one shows a lost start.
	 */
	async isOutdated(row: JobRow): Promise<boolean> {
		if (!isWaiting(row.state)) return false;
		this.hasLostStart = this.#hasStarted;
		this.#hasStarted ||= await hasStarted(this);
		return this.#hasStarted;
	}
}

export function handleOf(spec: SlurmSpec, { job, folder }: { job: string; folder: string }): Handle {
	const { command = [], entrypoint = [], drainBefore, container } = spec.settings;
	const program = entrypoint === "image" ? undefined : (entrypoint[0] ?? command[0]);
	return {
		job,
		name: nameOf(spec),
		folder,
		...(program !== undefined && { program }),
		...(container === "pyxis" && !spec.adapter && { step: 0 }),
		...(drainBefore !== undefined && { drainBefore }),
	};
}
