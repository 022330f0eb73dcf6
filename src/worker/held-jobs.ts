/**
 * The jobs this worker holds: from the take to the acknowledged report. Counts slots and carries
 * stops.
 */
import { heldTableWriter } from "./pings/held-table.ts";

/** One job in hand. */
export interface HeldJob {
	readonly id: string;
	/** Its place in the shared table; -1 when it has none. */
	readonly slot: number;
	/** False once the handler has ended and only the report is outstanding. */
	running: boolean;
	/** True once the service stopped it: nothing more is reported. */
	stopped: boolean;
	/** Made only when somebody wants the signal. */
	controller: AbortController | undefined;
}

/** The held jobs. */
export interface HeldJobs {
	/** Takes a job in; `undefined` when its id is already held. */
	add(id: string): HeldJob | undefined;
	/**
	 * The handler has ended: its slot is free, the job stays listed until {@link HeldJobs.remove}.
	 */
	ran(job: HeldJob): void;
	/** The report is acknowledged or given up. */
	remove(job: HeldJob): void;
	/** Marks a job as stopped and aborts its signal. False when it is not held or already stopped. */
	stop(id: string): boolean;
	stopAll(): void;
	/** Jobs whose handler runs. */
	readonly running: number;
	/** All held jobs. */
	readonly size: number;
	/** Called, with nothing, whenever {@link HeldJobs.ran} or {@link HeldJobs.remove} made room. */
	onRoom: () => void;
	/** Resolves when nothing is held; at once if so now. */
	idle(): Promise<void>;
}

/**
 * An empty set of held jobs. `overflow` is told the list of ids that have no place in `table`,
 * whenever it changes.
 */
export function createHeldJobs(
	table: SharedArrayBuffer,
	overflow: (ids: string[]) => void,
): HeldJobs {
	const jobs = new Map<string, HeldJob>();
	const writer = heldTableWriter(table);
	const outside = new Set<string>();
	let running = 0;
	let waiting: (() => void)[] = [];

	const held: HeldJobs = {
		add(id) {
			if (jobs.has(id)) return undefined;
			const job: HeldJob = {
				id,
				slot: writer.add(id),
				running: true,
				stopped: false,
				controller: undefined,
			};
			if (job.slot === -1) overflow([...outside.add(id)]);
			jobs.set(id, job);
			running += 1;
			return job;
		},
		ran(job) {
			if (!job.running) return;
			job.running = false;
			running -= 1;
			held.onRoom();
		},
		remove(job) {
			held.ran(job);
			if (!jobs.delete(job.id)) return;
			if (job.slot !== -1) writer.remove(job.slot);
			else if (outside.delete(job.id)) overflow([...outside]);
			held.onRoom();
			if (jobs.size > 0) return;
			for (const resolve of waiting) resolve();
			waiting = [];
		},
		stop(id) {
			const job = jobs.get(id);
			if (!job || job.stopped) return false;
			job.stopped = true;
			job.controller?.abort(stopReason());
			return true;
		},
		stopAll() {
			for (const id of jobs.keys()) held.stop(id);
		},
		get running() {
			return running;
		},
		get size() {
			return jobs.size;
		},
		onRoom: () => {},
		idle: () =>
			jobs.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
	};
	return held;
}

/** The signal of a job; aborted if it is already stopped. */
export function signalOf(job: HeldJob): AbortSignal {
	if (!job.controller) {
		job.controller = new AbortController();
		if (job.stopped) job.controller.abort(stopReason());
	}
	return job.controller.signal;
}

function stopReason(): Error {
	const reason = new Error(
		"The service stopped this job (cancelled or over its time), or the worker ends.",
	);
	reason.name = "AbortError";
	return reason;
}
