/**
 * One batch as its clients saw it (D57), and the rules `batch-...` that hold for it as a whole: it exists and ends,
 * each request is once in its files, its counts agree with them, and it changes in one direction only.
 */
import {
	type BatchFilesOp,
	type BatchOp,
	type BatchReadOp,
	brief,
	ENDED_STATES,
	type Op,
	type PurgeOp,
	type ResultLine,
	type SeenBatch,
} from "../history.ts";
import { over, type Violation } from "./job-history.ts";

/** In their order. A client may cancel from any of the first three. */
const ORDER: readonly SeenBatch["state"][] = ["validating", "in_progress", "finalizing", "cancelling"];

export class BatchHistory {
	readonly file: string;
	readonly endpoint: string;
	private readonly requests: BatchOp[] = [];
	private reads: BatchReadOp[] = [];
	readonly cancels: BatchReadOp[] = [];
	/** What its files were when they were first read. */
	private files: { content: string; cancelled: number } | undefined;
	/** The first answer that shows its end. */
	private end: BatchReadOp | undefined;
	private readonly broken = new Set<string>();
	private lastAt = 0;
	private readonly report: (violation: Violation) => void;

	constructor({ file, endpoint }: BatchOp, report: (violation: Violation) => void) {
		this.file = file;
		this.endpoint = endpoint;
		this.report = report;
	}

	get isBad(): boolean {
		return this.requests.some(({ bad }) => bad);
	}

	/** When its end was shown. */
	get endedAt(): number | undefined {
		return this.end?.to;
	}

	get held(): number {
		return this.requests.length + this.reads.length;
	}

	/** Whether it is judged, and no operation on it was answered since. */
	isOver(before: number): boolean {
		return this.lastAt < before && (this.files !== undefined || this.acknowledged() === undefined);
	}

	request(op: BatchOp): void {
		this.lastAt = op.to;
		this.requests.push(op);
		if (op.error !== undefined) this.violates("batch-exists", `refused as ${op.error}`, op);
		const first = this.acknowledged();
		if (first && op.batch !== undefined && op.batch !== first.batch)
			this.violates("batch-once", "two batches of one request", first, op);
	}

	/** Reads may be answered in another order than they were sent. */
	read(op: BatchReadOp): void {
		this.lastAt = op.to;
		// No server listened: nothing was refused.
		if (op.how === "cancel" && (op.result !== "fail" || op.missing)) this.cancels.push(op);
		if (op.missing) return this.misses(op);
		if (!op.seen) return;
		this.judge(op, op.seen);
		for (const before of this.reads) if (before.to < op.from) this.compare(before, op);
		this.reads.push(op);
		if (isEnded(op.seen)) this.end ??= op;
	}

	/** Of the first one its lines are judged; later ones are the same. `purges` of its endpoint. */
	readFiles(op: BatchFilesOp, purges: readonly PurgeOp[]): void {
		this.lastAt = op.to;
		if (op.missing) return this.violates("batch-exists", "a file of an ended batch is missing", this.end, op);
		const content = brief(JSON.stringify([op.output, op.errors]));
		if (this.files) {
			if (content !== this.files.content)
				this.violates("batch-kept", "the files of an ended batch have changed", this.end, op);
			return;
		}
		this.files = { content, cancelled: op.errors.filter(({ code }) => code === "batch_cancelled").length };
		this.judgeLines(op);
		this.judgeReasons(op, purges);
		// Only its end is compared with later reads.
		this.reads = this.end ? [this.end] : [];
	}

	/** Requests that have ended without a run, in queues too: certainly, or perhaps. */
	cancelledLines(): { least: number; most: number } {
		const most = this.files?.cancelled ?? 0;
		return { least: this.cancels.length > 0 ? 0 : most, most };
	}

	/** Its final state, when its files were read. */
	get state(): SeenBatch["state"] | undefined {
		return this.files && this.end?.seen?.state;
	}

	finish(): void {
		const acknowledged = this.acknowledged();
		if (!acknowledged) return;
		if (!this.end) this.violates("batch-ends", "no end was seen", acknowledged, this.reads.at(-1));
		else if (!this.files) this.violates("batch-ends", "its files were never read", acknowledged, this.end);
	}

	private acknowledged(): BatchOp | undefined {
		return this.requests.find(({ batch }) => batch !== undefined);
	}

	private misses(op: BatchReadOp): void {
		const acknowledged = this.acknowledged();
		if (acknowledged && acknowledged.to <= op.from)
			this.violates("batch-exists", `${op.how} did not find the batch`, acknowledged, op);
	}

	/** What holds for each answer. */
	private judge(op: BatchReadOp, { state, total, completed, failed }: SeenBatch): void {
		const [first] = this.requests;
		const lines = this.isBad ? 0 : first!.lines.length;
		if (completed + failed > total)
			this.violates("batch-counts", `${completed} completed and ${failed} failed of ${total}`, op);
		// A cancelled one may not have been read yet.
		const isRead = state !== "validating" && state !== "cancelling";
		if (total !== lines && (isRead || total !== 0))
			this.violates("batch-counts", `${total} requests, not ${lines}`, first, op);
		if (this.isBad ? isRead && state !== "failed" : state === "failed")
			this.violates("batch-faults", `${state}, though its file has ${this.isBad ? "a" : "no"} fault`, op);
		if (state === "expired") this.violates("batch-ends", "expired before its time", first, op);
	}

	/** The first was answered before the other was sent. */
	private compare(before: BatchReadOp, op: BatchReadOp): void {
		const [a, b] = [before.seen!, op.seen!];
		if (isEnded(a)) {
			if (JSON.stringify(a) !== JSON.stringify(b))
				this.violates("batch-kept", "a batch that had ended has changed", before, op);
		} else if (!isEnded(b) && ORDER.indexOf(b.state) < ORDER.indexOf(a.state))
			this.violates("batch-order", `${b.state} after ${a.state}`, before, op);
		else if (b.completed < a.completed || b.failed < a.failed || b.total < a.total)
			this.violates("batch-order", "counts are lower than before", before, op);
	}

	/** Each request is in one file once, and the counts are those of the files. */
	private judgeLines(files: BatchFilesOp): void {
		const { output, errors } = files;
		const seen = this.end?.seen;
		if (!seen) return;
		const expected = isComplete(seen.state) ? this.requests[0]!.lines.map(({ n }) => `n-${n}`) : [];
		const left = new Set(expected);
		for (const { id } of [...output, ...errors])
			if (!left.delete(id)) {
				const what = expected.includes(id) ? `${id} is in the files twice` : `${id} is no request of the batch`;
				this.violates("batch-files", what, this.requests[0], files);
			}
		const [first] = left;
		if (first !== undefined) this.violates("batch-files", `${first} is in no file`, this.requests[0], files);
		if (seen.completed !== output.length || seen.failed !== errors.length) {
			const shown = `${seen.completed} completed and ${seen.failed} failed`;
			this.violates("batch-counts", `${shown}, but ${output.length} and ${errors.length} lines`, this.end, files);
		}
	}

	/** Requests without an answer were cancelled, or purged with their queue. */
	private judgeReasons(op: BatchFilesOp, purges: readonly PurgeOp[]): void {
		const cancelled = this.reads.find(({ seen }) => seen?.state === "cancelling" || seen?.state === "cancelled");
		if (cancelled && !this.cancels.some(({ from }) => from < cancelled.to))
			this.violates("batch-cancel", "cancelled, though no client did", cancelled);
		const isPurged = (purge: PurgeOp): boolean =>
			purge.result !== "fail" && purge.from < op.to && over(purge) > this.requests[0]!.from;
		const mayBeCancelled = this.cancels.length > 0 || purges.some(isPurged);
		const wrong = op.errors.find(
			({ status, code }) => status === undefined && (code !== "batch_cancelled" || !mayBeCancelled),
		);
		if (wrong) this.violates("batch-answer", `${wrong.id} is ${wrong.code} without a reason`, op);
		const failed = op.output.find(({ status }) => status !== 200);
		if (failed) this.violates("batch-answer", `${failed.id} has no answer in the output file`, op);
	}

	/** Each rule once: what follows from one fault is none. */
	private violates(rule: string, what: string, ...lines: (Op | undefined)[]): void {
		if (this.broken.has(rule)) return;
		this.broken.add(rule);
		const batch = this.acknowledged()?.batch ?? this.file;
		this.report({ rule, what: `${batch}: ${what}`, lines: lines.filter((line) => line !== undefined) });
	}
}

/** NaN for a `custom_id` that no client gave. */
export const numberOf = ({ id }: ResultLine): number => Number(/^n-(\d+)$/.exec(id)?.[1] ?? NaN);

const isEnded = ({ state }: SeenBatch): boolean => (ENDED_STATES as readonly string[]).includes(state);

/** All of its requests are in its files. */
const isComplete = (state: SeenBatch["state"]): boolean => isEnded({ state } as SeenBatch) && state !== "failed";
