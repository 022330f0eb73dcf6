/** Unwatched jobs of this service: the answer of `sbatch` was lost, or the service was killed. */
import type { Clock } from "../../kernel/system/clock.ts";
import { SlurmFailure } from "./commands.ts";
import { isActive, type JobRow } from "./job-states.ts";
import type { SlurmQueue } from "./queue.ts";
import { hasStarted, removeFile, type WorkerFile } from "./shared-folder.ts";

/** A submission whose answer was lost may be accepted up to this much later, ms. */
const LATE_MS = 60_000;

interface Deps {
	clock: Clock;
	log: (message: string) => void;
	queue: SlurmQueue;
	/** The file of an unwatched worker, by its job's name. */
	fileOf: (name: string) => WorkerFile | undefined;
}

export class Strays {
	readonly #d: Deps;
	#swept: Promise<number> | undefined;
	#lateUntil = -Infinity;
	/** Ids of jobs that could not be cancelled. */
	#failed: ReadonlySet<string> = new Set();

	constructor(d: Deps) {
		this.#d = d;
	}

	/** A lost submission may be accepted later, so the queue is read for this time even without workers. */
	expectLate(): void {
		this.#lateUntil = this.#d.clock.now() + LATE_MS;
	}

	/** Whether the queue is to be read again for strays. */
	get mayBeLeft(): boolean {
		return this.#failed.size > 0 || this.#d.clock.now() < this.#lateUntil;
	}

	forgetSweep(): void {
		this.#swept = undefined;
	}

	/** Sweeps once and returns how many strays there were. Rejects without an answer. */
	swept(): Promise<number> {
		this.#swept ??= this.#d.queue.rows().then((rows) => this.cancel(rows));
		this.#swept.catch(() => this.forgetSweep());
		return this.#swept;
	}

	/** Cancels strays. A failure delays neither other strays nor the start of workers, and is logged once. */
	async cancel(rows: ReadonlyMap<string, JobRow>): Promise<number> {
		const failed = new Set<string>();
		let count = 0;
		for (const { id, name, state } of rows.values()) {
			const file = isActive(state) && state !== "COMPLETING" ? this.#d.fileOf(name) : undefined;
			if (!file) continue;
			try {
				await this.#d.queue.kill(id, { started: await hasStarted(file) });
				await removeFile(file);
				count += 1;
			} catch (error) {
				if (error instanceof SlurmFailure && error.isUnanswered) throw error;
				const why = (error as Error).message;
				if (!this.#failed.has(id)) this.#d.log(`job ${id}, left behind, was not cancelled, trying again: ${why}`);
				failed.add(id);
			}
		}
		this.#failed = failed;
		return count;
	}
}
