/** A worker and its Slurm job. */
import type { LocalMs } from "../../core/time.ts";
import type { Handle } from "../launcher.ts";
import { WatchedWorker } from "../watched-workers.ts";
import { isWaiting, type JobRow } from "./job-states.ts";
import { nameOf, type SlurmSpec, WATCHDOG_MS } from "./script.ts";
import { hasStarted, removeFile } from "./shared-folder.ts";

/** Queries without a job until it counts as ended. */
const MISSING_QUERIES = 2;
const DRAIN_BEFORE_S = 300;

export class Worker extends WatchedWorker {
	readonly job: string;
	/** The job's name: ids are reused. */
	readonly name: string;
	readonly folder: string;
	readonly drainBeforeS: number;
	readonly memory: string | undefined;
	/** The step of the job that the worker runs in; undefined: its batch script. */
	readonly step: number | undefined;
	/** Number of consecutive queries that did not show its job. */
	#missing = 0;
	/** When its file was removed because Slurm has no record of its job. */
	#lostAt: LocalMs | undefined;

	constructor(id: string, { job, name, folder, drainBefore, memory, step }: Handle) {
		super(id);
		this.job = String(job);
		this.name = String(name);
		this.folder = String(folder);
		this.drainBeforeS = Number(drainBefore ?? DRAIN_BEFORE_S);
		this.memory = memory === undefined ? undefined : String(memory);
		this.step = step === undefined ? undefined : Number(step);
	}

	/** Returns its job among those of the queue. */
	rowIn(rows: ReadonlyMap<string, JobRow>): JobRow | undefined {
		const row = rows.get(this.job);
		const isIts = row?.name === this.name;
		this.#missing = isIts ? 0 : this.#missing + 1;
		return isIts ? row : undefined;
	}

	/** Whether Slurm has lost the record of the job, and the watchdog has ended what may still run. */
	isLost(now: LocalMs): boolean {
		if (this.#missing < MISSING_QUERIES) return false;
		if (this.#lostAt === undefined && !hasStarted(this)) return true;
		removeFile(this);
		this.#lostAt ??= now;
		return now - this.#lostAt >= WATCHDOG_MS;
	}

	/** Whether the controller restarted with an old state: within seconds Slurm shows what is true. */
	isOutdated(row: JobRow): boolean {
		return isWaiting(row.state) && hasStarted(this);
	}
}

/** Returns what identifies the job of a worker, with the settings that are needed while it is watched. */
export function handleOf(spec: SlurmSpec, { job, folder }: { job: string; folder: string }): Handle {
	const { drainBefore, memory, container } = spec.settings;
	return {
		job,
		name: nameOf(spec),
		folder,
		...(container === "pyxis" && { step: 0 }),
		...(drainBefore !== undefined && { drainBefore }),
		...(memory !== undefined && { memory }),
	};
}
