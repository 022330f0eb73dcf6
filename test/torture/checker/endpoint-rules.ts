/** Rules of an endpoint as a whole: queue limit, workers, purges, counts, one job per request. */
import { MAX_LOSSES } from "../../../src/kernel/core/jobs/job-transitions.ts";
import type { EndpointTerms, FaultOp, HealthOp, LaunchedOp, Op, PurgeOp, SubmitOp, TakeOp } from "../history.ts";
import type { BatchHistory } from "./batch-history.ts";
import type { JobHistory, Violation } from "./job-history.ts";

/** Ends that were certainly, or perhaps, counted (D13). */
interface Total {
	least: number;
	most: number;
}

/** A submission and when it may have left the queue, for the queue limit. */
interface Waiting {
	submit: SubmitOp;
	left: number;
}

export class EndpointHistory {
	readonly purges: PurgeOp[] = [];
	private readonly completed: Total = { least: 0, most: 0 };
	private readonly failed: Total = { least: 0, most: 0 };
	private readonly retried: Total = { least: 0, most: 0 };
	private readonly missing: Total = { least: 0, most: 0 };
	/** Of purges that were dropped. */
	private removedBefore = 0;
	private unknownBefore = false;
	/** Submissions before it were held against the queue limit. */
	private judgedTo = 0;
	private unknownSubmits = 0;
	private readonly waiting = new Map<string, Waiting>();
	/** Of jobs that a worker had before their client got the answer. */
	private readonly leftBefore = new Map<string, number>();
	/** Purges, and takes without an answer. */
	readonly unsure: (PurgeOp | TakeOp)[] = [];
	readonly terms: EndpointTerms;
	private readonly report: (violation: Violation) => void;

	constructor(terms: EndpointTerms, report: (violation: Violation) => void) {
		this.terms = terms;
		this.report = report;
	}

	submit(op: SubmitOp): void {
		if (op.result === "unknown") this.unknownSubmits += 1;
		// A repeat under a key answers the same job.
		if (this.terms.queue && op.result === "ok" && !this.waiting.has(op.job!))
			this.waiting.set(op.job!, { submit: op, left: this.leftBefore.get(op.job!) ?? Infinity });
	}

	take(op: TakeOp): void {
		if (op.jobs.length > op.size)
			this.report({
				rule: "batch-size",
				what: `${op.jobs.length} of ${op.size} jobs`,
				lines: [op],
			});
		if (op.result === "unknown") this.unsure.push(op);
		for (const { id } of op.jobs) this.leaves(id, op.from);
	}

	/** The job may have left the queue from then on. */
	leaves(id: string, from: number): void {
		const entry = this.waiting.get(id);
		if (entry) entry.left = Math.min(entry.left, from);
		else if (this.terms.queue) this.leftBefore.set(id, Math.min(from, this.leftBefore.get(id) ?? Infinity));
	}

	purge(op: PurgeOp): void {
		this.purges.push(op);
		this.unsure.push(op);
	}

	launched(op: LaunchedOp): void {
		const { workersMax = Infinity } = this.terms;
		if (op.alive <= workersMax) return;
		const what = `${op.alive} workers live, workersMax is ${workersMax}`;
		this.report({ rule: "workers-max", what, lines: [op] });
	}

	/** Counts the ends of a job that is closed. */
	close(job: JobHistory): void {
		const restarts = job.restarts();
		const accepted = restarts.filter(({ result }) => result === "ok").length;
		const final = job.end();
		const mayBePurged = job.purges().length > 0;
		// Each retry that was accepted followed a failure, also of a job that a purge removed afterwards.
		this.failed.least += accepted;
		this.failed.most += restarts.length;
		// Its batch says whether it was purged. Takes without an answer may have been given it.
		if (job.batch) this.retried.most += MAX_LOSSES;
		else if (!final && mayBePurged) {
			both(this.missing, 1);
			this.retried.most += job.takes.length + restarts.length;
			return;
		}
		if (final?.seen.state === "COMPLETED") both(this.completed, 1);
		else if (final && final.seen.state !== "CANCELLED") both(this.failed, 1);
		if (final?.seen.delayTime !== undefined) both(this.retried, final.seen.retries ?? 0);
		else this.retried.most += job.takes.length + restarts.length;
	}

	/** Requests of a batch that have ended without a run: purges may have removed their jobs. */
	cancelledLines({ least, most }: Total): void {
		this.missing.least += least;
		this.missing.most += most;
	}

	/** `/health` when nothing happens equals what was seen (D13). */
	health(op: HealthOp): void {
		const { jobs } = op;
		if (!op.idle || !jobs) return;
		const { inQueue, inProgress, completed, failed, retried } = jobs;
		// A submission without an answer, before any worker got the answer that named its job, which may have been lost.
		const slack = this.unknownSubmits;
		const wrong = [
			inQueue > 0 && `${inQueue} jobs wait`,
			inProgress > 0 && `${inProgress} jobs run`,
			isOutside(completed, this.completed, 0) && `completed ${completed}, seen ${show(this.completed)}`,
			isOutside(failed, this.failed, slack) && `failed ${failed}, seen ${show(this.failed)}`,
			isOutside(retried, this.retried, slack * (MAX_LOSSES - 1)) && `retried ${retried}, seen ${show(this.retried)}`,
		].filter((each) => each !== false);
		if (wrong.length > 0) this.report({ rule: "health", what: wrong.join("; "), lines: [op] });
	}

	/** What can be judged only when all is known. */
	finish(faults: readonly FaultOp[]): void {
		this.purgeCounts();
		this.queueLimit(faults, Infinity);
	}

	get held(): number {
		return this.purges.length + this.waiting.size + this.leftBefore.size + this.unsure.length;
	}

	/** Judges submissions before that moment, and drops what later ones do not need. */
	forget(before: number, faults: readonly FaultOp[]): void {
		this.queueLimit(faults, before);
		for (const [id, { left }] of this.waiting) if (left < before) this.waiting.delete(id);
		for (const [id, left] of this.leftBefore) if (left < before) this.leftBefore.delete(id);
		for (const { result, removed = 0 } of dropOld(this.purges, before)) {
			this.removedBefore += removed;
			this.unknownBefore ||= result === "unknown";
		}
		dropOld(this.unsure, before);
	}

	/** Purges removed as many as are missing. */
	private purgeCounts(): void {
		const unknown = this.unknownBefore || this.purges.some(({ result }) => result === "unknown");
		const removed = this.purges.reduce((n, purge) => n + (purge.removed ?? 0), this.removedBefore);
		const tooMany = removed > this.missing.most + this.unknownSubmits;
		if (!tooMany && (unknown || this.missing.least <= removed)) return;
		const what = `purges answered ${removed} removed jobs, ${show(this.missing)} are missing`;
		this.report({ rule: "purge-count", what, lines: this.purges.slice(-5) });
	}

	/** No submission was accepted while more jobs than the limit certainly waited (D23). */
	private queueLimit(faults: readonly FaultOp[], until: number): void {
		const { queue } = this.terms;
		if (!queue) return;
		const breaks = [...faults, ...this.unsure].map(({ from }) => from).toSorted((a, b) => a - b);
		const all = [...this.waiting.values()].toSorted((a, b) => a.submit.to - b.submit.to);
		let at = 0;
		for (const entry of all) {
			while (at < breaks.length && breaks[at]! < entry.submit.from) at += 1;
			entry.left = Math.min(entry.left, breaks[at] ?? Infinity);
		}
		const certain = all.filter(({ submit, left }) => left > submit.to);
		const begins = certain.map(({ submit }) => submit.to);
		const leaves = certain.map(({ left }) => left).toSorted((a, b) => a - b);
		for (const { submit } of all.toSorted((a, b) => a.submit.to - b.submit.to)) {
			if (submit.to >= until) break;
			if (submit.to < this.judgedTo) continue;
			const waiting = countBelow(begins, submit.from) - countBelow(leaves, submit.to);
			if (waiting <= queue.limit + queue.slack) continue;
			const what = `accepted while ${waiting} jobs waited; the limit is ${queue.limit}`;
			this.report({ rule: "queue-limit", job: submit.job!, what, lines: [submit] });
			break;
		}
		this.judgedTo = until;
	}
}

/** Removes from the list what ended before that moment, and answers it. */
export function dropOld<T extends { to: number }>(list: T[], before: number): T[] {
	const old = list.filter(({ to }) => to < before);
	if (old.length > 0) list.splice(0, list.length, ...list.filter(({ to }) => to >= before));
	return old;
}

/** How many of ascending numbers are below `bound`. */
function countBelow(sorted: readonly number[], bound: number): number {
	let [low, high] = [0, sorted.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (sorted[middle]! < bound) low = middle + 1;
		else high = middle;
	}
	return low;
}

function both(total: Total, count: number): void {
	total.least += count;
	total.most += count;
}

function isOutside(value: number, { least, most }: Total, slack: number): boolean {
	return value < least || value > most + slack;
}

function show({ least, most }: Total): string {
	return least === most ? String(least) : `${least} to ${most}`;
}

/** All jobs that requests with one number led to (D14). */
export class RequestHistory {
	readonly submits: SubmitOp[] = [];
	readonly jobs = new Set<string>();
	readonly lines: Op[] = [];
	/** It is a request of this one. */
	batch: BatchHistory | undefined;

	add(op: SubmitOp | TakeOp, jobs: readonly string[]): void {
		this.lines.push(op);
		if (op.op === "submit") this.submits.push(op);
		for (const id of jobs) this.jobs.add(id);
	}

	/** With a key there is one job, else at most one for each request. */
	check(): Violation[] {
		const sent = this.submits.filter(({ result }) => result !== "fail");
		const isKeyed = this.submits.some(({ key }) => key !== undefined);
		const most = isKeyed ? 1 : sent.length;
		if (this.jobs.size <= most) return [];
		const what = `${this.jobs.size} jobs of ${sent.length} requests${isKeyed ? " with one key" : ""}`;
		return [{ rule: "one-job-per-request", what, lines: this.lines }];
	}
}
