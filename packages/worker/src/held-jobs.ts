/** The jobs held by this worker, from the take to the acknowledged report. */
import { heldTableWriter } from "./pings/held-table.ts";

export interface HeldJob {
	readonly id: string;
	/** Slot in the shared table, or -1. */
	readonly slot: number;
	/** False once only the report is pending. */
	running: boolean;
	/** Its number, if the service sends it. */
	readonly attempt: number | undefined;
	/** Nothing more is reported. */
	stopped: boolean;
	/** The handler gave the job back; only that is to be reported. */
	returned: boolean;
	controller: AbortController | undefined;
}

export interface HeldJobs {
	/**
	 * Undefined if the id is already held. A job that is being returned gives way to a later attempt of it: the service
	 * has taken the return, and may hand the job out again before its answer arrives.
	 */
	add(id: string, attempt?: number): HeldJob | undefined;
	/** The handler returned. The job is held until {@link HeldJobs.remove}. */
	ran(job: HeldJob): void;
	remove(job: HeldJob): void;
	/** Aborts the job's signal. False if not held or already stopped. */
	stop(id: string): boolean;
	stopAll(): void;
	readonly running: number;
	readonly size: number;
	onRoom: () => void;
	idle(): Promise<void>;
}

/** `overflow` receives the ids that do not fit into `table`, whenever they change. */
export function createHeldJobs(table: SharedArrayBuffer, overflow: (ids: string[]) => void): HeldJobs {
	const jobs = new Map<string, HeldJob>();
	const writer = heldTableWriter(table);
	const outside = new Set<string>();
	let running = 0;
	let waiting: (() => void)[] = [];

	const held: HeldJobs = {
		add(id, attempt) {
			const former = jobs.get(id);
			if (former) {
				if (!former.returned || attempt === undefined || attempt === former.attempt) return undefined;
				held.stop(id);
				held.remove(former);
			}
			const job: HeldJob = {
				id,
				slot: writer.add(id),
				running: true,
				attempt,
				stopped: false,
				returned: false,
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
			if (jobs.get(job.id) !== job) return;
			jobs.delete(job.id);
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
		idle: () => (jobs.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
	};
	return held;
}

export function signalOf(job: HeldJob): AbortSignal {
	if (!job.controller) {
		job.controller = new AbortController();
		if (job.stopped) job.controller.abort(stopReason());
	}
	return job.controller.signal;
}

function stopReason(): Error {
	const reason = new Error("The service stopped this job (cancelled or timed out), or the worker is stopping.");
	reason.name = "AbortError";
	return reason;
}
