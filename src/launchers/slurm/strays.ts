/** Jobs of this service that are not watched: the answer of `sbatch` was lost, or the service was killed. */
import type { Clock } from "../../clock.ts";
import { isActive, type JobRow } from "./job-states.ts";
import type { SlurmQueue } from "./queue.ts";
import { hasStarted, removeFile, type WorkerFile } from "./shared-folder.ts";

/** Maximum delay after which a submission whose answer was lost may be accepted, ms. */
const LATE_MS = 60_000;

interface Deps {
	clock: Clock;
	queue: SlurmQueue;
	/** Returns the file of a worker that nothing watches, by the name of its job. */
	fileOf: (name: string) => WorkerFile | undefined;
}

export class Strays {
	readonly #d: Deps;
	#swept: Promise<number> | undefined;
	#lateUntil = -Infinity;

	constructor(d: Deps) {
		this.#d = d;
	}

	/** Expects that a submission is accepted later: until then the queue is read, also without workers. */
	expectLate(): void {
		this.#lateUntil = this.#d.clock.now() + LATE_MS;
	}

	get mayBeLate(): boolean {
		return this.#d.clock.now() < this.#lateUntil;
	}

	/** Lets the next {@link swept} read the queue again. */
	forgetSweep(): void {
		this.#swept = undefined;
	}

	/** Cancels strays, unless that was done; returns how many there were. Rejects without an answer. */
	swept(): Promise<number> {
		this.#swept ??= this.#d.queue.rows().then((rows) => this.cancel(rows));
		this.#swept.catch(() => this.forgetSweep());
		return this.#swept;
	}

	/** Cancels those among the jobs; returns how many there are. */
	async cancel(rows: ReadonlyMap<string, JobRow>): Promise<number> {
		let count = 0;
		for (const { id, name, state } of rows.values()) {
			const file = isActive(state) && state !== "COMPLETING" ? this.#d.fileOf(name) : undefined;
			if (!file) continue;
			await this.#d.queue.kill(id, { started: hasStarted(file) });
			removeFile(file);
			count += 1;
		}
		return count;
	}
}
