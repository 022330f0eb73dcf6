/**
 * All operations on one job, and what follows from their times alone. An operation takes effect
 * between its request and its answer; one without an answer also a little later, or never.
 */
import { isFinal, type JobState } from "../../../src/kernel/core/jobs/job-states.ts";
import type {
	BatchFilesOp,
	CancelOp,
	ChunkOp,
	DropOp,
	EndpointTerms,
	EventsOp,
	FaultOp,
	JobBoundOp,
	Op,
	PingOp,
	PurgeOp,
	ReadOp,
	ReportOp,
	ResponseEventsOp,
	ResponseReadOp,
	Result,
	ResultLine,
	RetryOp,
	ReturnOp,
	Seen,
	StreamOp,
	SubmitOp,
	TakeOp,
	WebhookOp,
} from "../history.ts";

/** A rule that a history breaks. */
export interface Violation {
	rule: string;
	job?: string;
	/** What is wrong. */
	what: string;
	/** The operations that show it. */
	lines: readonly Op[];
}

/** How long an operation without an answer may still take effect, ms. */
const LATE_MS = 5000;

/** Differences of two clocks over a few minutes, ms. */
export const CLOCK_MS = 500;

/** The moment after which the operation has no effect any more. */
export function over({ result, to }: { result: string; to: number }): number {
	return result === "unknown" ? to + LATE_MS : to;
}

/** The state that an operation saw. `epoch`: accepted retries before it; undefined: uncertain. */
export interface Observation {
	line: Op;
	from: number;
	to: number;
	seen: Seen;
	epoch: number | undefined;
}

/** One run of the job, from its take to what its worker said next. */
export interface Attempt {
	take: TakeOp;
	serial: number;
	worker: string;
	/** The claim was not earlier, and not later. */
	from: number;
	to: number;
	/** By this worker, until its next take of this job. */
	reports: ReportOp[];
	returns: ReturnOp[];
	drops: DropOp[];
	chunks: ChunkOp[];
	pings: PingOp[];
}

/** The batch that a job is of. */
export interface BatchOfJob {
	/** When its end was shown. */
	readonly endedAt: number | undefined;
	/** Its file has a fault, so that no request of it runs. */
	readonly isBad: boolean;
}

/** The end of a job as a line in a file of its batch. */
export interface LineOfJob {
	file: BatchFilesOp;
	isAnswer: boolean;
	line: ResultLine;
}

export class JobHistory {
	batch: BatchOfJob | undefined;
	readonly batchLines: LineOfJob[] = [];
	readonly submits: SubmitOp[] = [];
	readonly reads: ReadOp[] = [];
	readonly cancels: CancelOp[] = [];
	readonly retries: RetryOp[] = [];
	readonly streams: StreamOp[] = [];
	readonly events: EventsOp[] = [];
	readonly reports: ReportOp[] = [];
	readonly returns: ReturnOp[] = [];
	readonly chunks: ChunkOp[] = [];
	readonly drops: DropOp[] = [];
	readonly webhooks: WebhookOp[] = [];
	readonly responseReads: ResponseReadOp[] = [];
	readonly responseEvents: ResponseEventsOp[] = [];
	readonly takes: TakeOp[] = [];
	readonly pings: PingOp[] = [];
	readonly lines: Op[] = [];
	/** Numbers of the submissions that its input and its answers name. */
	readonly numbers = new Set<number>();
	readonly id: string;
	readonly terms: EndpointTerms;
	/** Of the endpoint and of all; those that may matter are picked by their times. */
	private readonly surroundings: {
		purges: readonly PurgeOp[];
		faults: readonly FaultOp[];
		/** Takes without an answer, which may have been given any job, and purges. */
		unsure: readonly { from: number; to: number; result: Result }[];
	};

	constructor(id: string, terms: EndpointTerms, surroundings: JobHistory["surroundings"]) {
		this.id = id;
		this.terms = terms;
		this.surroundings = surroundings;
	}

	add(op: SubmitOp | TakeOp | PingOp | JobBoundOp): void {
		this.lines.push(op);
		switch (op.op) {
			case "submit":
				return void this.submits.push(op);
			case "take":
				return void this.takes.push(op);
			case "ping":
				return void this.pings.push(op);
			case "read":
				return void this.reads.push(op);
			case "cancel":
				return void this.cancels.push(op);
			case "retry":
				return void this.retries.push(op);
			case "stream":
				return void this.streams.push(op);
			case "events":
				return void this.events.push(op);
			case "report":
				return void this.reports.push(op);
			case "return":
				return void this.returns.push(op);
			case "chunk":
				return void this.chunks.push(op);
			case "drop":
				return void this.drops.push(op);
			case "webhook":
				return void this.webhooks.push(op);
			case "response-read":
				return void this.responseReads.push(op);
			case "response-events":
				return void this.responseEvents.push(op);
			case "close":
				return;
		}
	}

	/** An answer has named the job to its client. */
	acknowledged(): SubmitOp | undefined {
		return this.submits.find(({ result }) => result === "ok");
	}

	/** Not earlier than this the job was created. */
	createdFrom(): number {
		return Math.min(...this.submits.map(({ from }) => from), this.takes[0]?.to ?? Infinity);
	}

	/** Retries that were accepted, or may have been. */
	restarts(): RetryOp[] {
		return this.retries.filter(({ result }) => result !== "fail").toSorted((a, b) => a.from - b.from);
	}

	/** How many restarts lie before a span of time; undefined when one may lie in it. */
	epochAt({ from, to }: { from: number; to: number }): number | undefined {
		const restarts = this.restarts();
		if (restarts.some((retry) => retry.from < to && over(retry) > from)) return undefined;
		return restarts.filter((retry) => over(retry) <= from).length;
	}

	/** When the last restart before an epoch that was certainly accepted was sent; 0: none. */
	restartedFrom(epoch: number): number {
		const before = this.restarts().slice(0, epoch);
		return before.findLast(({ result }) => result === "ok")?.from ?? 0;
	}

	/** Purges that may have removed the job. */
	purges(): PurgeOp[] {
		const created = this.createdFrom();
		return this.surroundings.purges.filter((purge) => purge.result !== "fail" && over(purge) > created);
	}

	faultsIn({ from, to }: { from: number; to: number }): FaultOp[] {
		return this.surroundings.faults.filter((fault) => fault.from < to && over(fault) > from);
	}

	/** Whether a take that had no answer may have been given the job. */
	isUnsureIn({ from, to }: { from: number; to: number }): boolean {
		return this.surroundings.unsure.some((each) => each.from < to && over(each) > from);
	}

	/** States that were read, by the time of their requests. */
	observations(): Observation[] {
		const found: { line: Op; from: number; to: number; seen: Seen }[] = [];
		for (const line of [...this.submits, ...this.reads, ...this.events])
			if (line.seen) found.push({ line, from: line.from, to: line.to, seen: line.seen });
		for (const line of this.cancels)
			if (line.state) found.push({ line, from: line.from, to: line.to, seen: { state: line.state } });
		for (const { file: line, isAnswer } of this.batchLines)
			found.push({ line, from: line.from, to: line.to, seen: { state: isAnswer ? "COMPLETED" : "FAILED" } });
		return found.map((each) => ({ ...each, epoch: this.epochAt(each) })).toSorted((a, b) => a.from - b.from);
	}

	/** The end after the last restart. */
	end(): Observation | undefined {
		const since = this.restarts().at(-1)?.to ?? 0;
		const ends = this.observations().filter(({ seen, from }) => isEnd(seen) && from >= since);
		return ends.findLast(({ seen }) => seen.delayTime !== undefined) ?? ends.at(-1);
	}

	attempts(): Attempt[] {
		const created = this.createdFrom();
		const sorted = this.takes.toSorted((a, b) => a.to - b.to);
		return sorted.map((take, index) => {
			const worker = take.by;
			const end = sorted.slice(index + 1).find((later) => later.by === worker)?.to ?? Infinity;
			const own = <O extends { by: string; from: number }>(ops: readonly O[]): O[] =>
				ops.filter(({ by, from }) => by === worker && from >= take.to && from < end);
			return {
				take,
				serial: take.jobs.find(({ id }) => id === this.id)!.take,
				worker,
				from: Math.max(take.from, created),
				to: take.to,
				reports: own(this.reports),
				returns: own(this.returns),
				drops: own(this.drops),
				chunks: own(this.chunks),
				pings: own(this.pings),
			};
		});
	}

	/**
	 * Until when the attempt certainly holds the job, unless it ends by a report, a cancel or a restart: its worker gave
	 * signs, dropped and returned nothing, and the time for the run was not over.
	 */
	heldUntil({ from, drops, returns, chunks, pings }: Attempt): number {
		const restart = this.restarts().findLast((retry) => over(retry) <= from);
		const began = Math.max(from, restart?.from ?? 0);
		const signs = [...chunks, ...pings].filter(({ result }) => result === "ok");
		let until = began + this.terms.leaseMs;
		for (const sign of signs.toSorted((a, b) => a.from - b.from))
			if (sign.to < until - CLOCK_MS) until = Math.max(until, sign.from + this.terms.leaseMs);
		const timeout = this.submits[0]?.timeoutMs ?? 0;
		return Math.min(until, began + timeout, ...[...drops, ...returns].map((end) => end.from)) - CLOCK_MS;
	}

	/** The earliest moment at which the job can have ended, in its last epoch. */
	endedFrom(): number {
		const created = Math.max(this.createdFrom(), this.restarts().at(-1)?.from ?? 0);
		const { ttlMs = 0, timeoutMs = 0 } = this.submits[0] ?? {};
		const ends = [...this.reports, ...this.returns, ...this.cancels, ...this.drops].map(({ from }) => from);
		// Answers to takes were lost, perhaps all of them: it may have failed as lost.
		if (ends.length === 0)
			for (const { from } of this.faultsIn({ from: created, to: Infinity })) ends.push(Math.max(from, created));
		return Math.min(...ends.filter((from) => from >= created), created + Math.min(ttlMs, timeoutMs));
	}

	/** Why the job may be missing in an answer; undefined: it must exist. */
	mayBeMissing({ to }: { to: number }): "purged" | "expired" | undefined {
		if (this.purges().some(({ from }) => from < to)) return "purged";
		const operation = this.submits[0]?.operation ?? "run";
		const expiry = this.endedFrom() + this.terms.retentionMs[operation];
		return to >= expiry - CLOCK_MS ? "expired" : undefined;
	}
}

export function isEnd(seen: { state: JobState }): boolean {
	return isFinal(seen.state);
}

/** A post of this chunk had no answer and was repeated, perhaps at another server. */
export function mayRepeat({ terms, chunks }: JobHistory, text: string): boolean {
	return terms.repeats === true && chunks.some((op) => op.text === text && op.result !== "ok");
}
