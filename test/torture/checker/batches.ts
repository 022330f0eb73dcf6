/** The batches of a history, by what names them: the file of a request, later the id. */
import type { BatchFilesOp, BatchOp, BatchReadOp, ResultLine, SubmitOp } from "../history.ts";
import { BatchHistory, numberOf } from "./batch-history.ts";
import type { EndpointHistory, RequestHistory } from "./endpoint-rules.ts";
import type { JobHistory, Violation } from "./job-history.ts";

/** What a job of a batch has, unless its endpoint says otherwise. */
const TIMES = { ttlMs: 86_400_000, timeoutMs: 600_000 };

interface Known {
	report: (violation: Violation) => void;
	endpointOf(id: string): EndpointHistory;
	requestOf(n: number): RequestHistory;
	/** Undefined if it was closed. */
	jobOf(id: string, endpoint: string): JobHistory | undefined;
}

export class Batches {
	private readonly byFile = new Map<string, BatchHistory>();
	private readonly byId = new Map<string, BatchHistory>();
	private readonly known: Known;
	/** How many were read to the end, by their final states. */
	readonly ended: Record<string, number> = {};

	constructor(known: Known) {
		this.known = known;
	}

	/** A request of a batch is a submission with a key, whose answer no client gets. */
	request(op: BatchOp): void {
		let batch = this.byFile.get(op.file);
		if (!batch) this.byFile.set(op.file, (batch = new BatchHistory(op, this.known.report)));
		batch.request(op);
		if (op.batch !== undefined && !this.byId.has(op.batch)) this.byId.set(op.batch, batch);
		for (const { n, input } of op.lines) {
			const request = this.known.requestOf(n);
			request.batch = batch;
			request.add(submissionOf(op, { n, input }), []);
		}
	}

	read(op: BatchReadOp): void {
		this.byId.get(op.batch)?.read(op);
	}

	readFiles(op: BatchFilesOp): void {
		const batch = this.byId.get(op.batch);
		if (!batch) return;
		const endpoint = this.known.endpointOf(batch.endpoint);
		const isFirst = batch.state === undefined;
		batch.readFiles(op, endpoint.purges);
		const { state } = batch;
		if (!isFirst || state === undefined) return;
		this.ended[state] = (this.ended[state] ?? 0) + 1;
		endpoint.cancelledLines(batch.cancelledLines());
		for (const line of op.output) this.report(batch, op, line, true);
		for (const line of op.errors) this.report(batch, op, line, false);
	}

	get held(): number {
		return [...this.byFile.values()].reduce((sum, { held }) => sum + held, 0);
	}

	forget(before: number): void {
		for (const [file, batch] of this.byFile) if (batch.isOver(before)) this.byFile.delete(file);
		for (const [id, batch] of this.byId) if (batch.isOver(before)) this.byId.delete(id);
	}

	finish(): void {
		for (const batch of this.byFile.values()) batch.finish();
	}

	/** Notes at the job of a line how it ended. */
	private report(batch: BatchHistory, file: BatchFilesOp, line: ResultLine, isAnswer: boolean): void {
		if (line.job === undefined) return;
		const job = this.known.jobOf(line.job, batch.endpoint);
		if (!job) return;
		const n = numberOf(line);
		// No worker may have had the answer that named it.
		if (job.numbers.size === 0) job.numbers.add(n);
		this.known.requestOf(n).jobs.add(line.job);
		job.lines.push(file);
		job.batchLines.push({ file, isAnswer, line });
	}
}

function submissionOf({ by, endpoint, file, from, to }: BatchOp, { n, input }: BatchOp["lines"][number]): SubmitOp {
	const times = { ...TIMES, from, to };
	// It takes effect whenever the batch comes to it.
	const submission = { op: "submit", operation: "run", by, endpoint, n, input, key: `${file}:${n}` } as const;
	return { ...submission, ...times, result: "unknown" };
}

/** What the job of a request knows of its batch, before it is judged: that may have cancelled it. */
export function addBatch(job: JobHistory, batch: BatchHistory): void {
	job.batch = batch;
	for (const { by, from, to } of batch.cancels) job.add({ op: "cancel", by, job: job.id, result: "unknown", from, to });
}
