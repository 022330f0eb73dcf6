/** The jobs of a run that are not closed yet: who knows them, and what was seen of them. */
import type { Op } from "./history.ts";

export interface Tracked {
	id: string;
	endpoint: string;
	/** Its client wants nothing more of it. */
	left: boolean;
	/** When its end was acknowledged to its worker, or first read. */
	endedAt?: number;
	/** Deliveries that arrived, and how many are expected. */
	deliveries: Set<string>;
	expected: number;
	/** When it was first heard of, or last found open. */
	met: number;
	/** How often a worker got it, and how many may still send something about it. */
	runs: number;
	running: number;
	/** Number of the request of a batch. */
	line?: number;
}

export interface Tracker {
	/** Adds it to the history, judges it, and notes what it says about jobs. */
	record(op: Op): void;
	readonly jobs: ReadonlyMap<string, Tracked>;
	/** Submitted through `/run` and not reported by a worker yet. */
	readonly outstanding: number;
	/** A client begins to use a job; a worker meets one. `line`: it is this request of a batch. */
	meet(id: string, endpoint: string, line?: number): Tracked;
	/** Until they are let go, clients want more of the jobs of these requests. */
	hold(lines: readonly number[]): void;
	letGo(lines: readonly number[]): void;
	close(job: Tracked): void;
}

export function tracker(record: (op: Op) => void, now: () => number): Tracker {
	const jobs = new Map<string, Tracked>();
	const waiting = new Set<string>();
	const held = new Set<number>();

	return {
		jobs,
		get outstanding() {
			return waiting.size;
		},
		record(op) {
			record(op);
			if (op.op === "report") {
				waiting.delete(op.job);
				const job = jobs.get(op.job);
				if (job && op.result === "ok") job.endedAt ??= op.to;
			}
			if (op.op === "submit" && op.job !== undefined && !op.seen && op.endpoint === "bulk") waiting.add(op.job);
		},
		meet(id, endpoint, line) {
			let job = jobs.get(id);
			if (!job) {
				const met = now();
				job = {
					id,
					endpoint,
					left: line === undefined || !held.has(line),
					deliveries: new Set(),
					expected: 0,
					met,
					runs: 0,
					running: 0,
					...(line !== undefined && { line }),
				};
				jobs.set(id, job);
			}
			return job;
		},
		hold(lines) {
			for (const line of lines) held.add(line);
		},
		letGo(lines) {
			const free = new Set(lines);
			for (const line of free) held.delete(line);
			for (const job of jobs.values()) if (job.line !== undefined && free.has(job.line)) job.left = true;
		},
		close({ id }) {
			jobs.delete(id);
			waiting.delete(id);
			const at = now();
			record({ op: "close", by: "audit", result: "ok", job: id, from: at, to: at });
		},
	};
}
