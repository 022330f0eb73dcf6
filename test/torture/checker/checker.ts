/**
 * Reads a history, operation by operation in the order of the answers, and holds each job against
 * the rules when the harness closes it. Linear in the history; memory for open jobs only.
 */
import {
	type EndpointTerms,
	type FaultOp,
	type JobBoundOp,
	type Op,
	PARTITION,
	type PingOp,
	type SubmitOp,
	type TakeOp,
	type UploadOp,
} from "../history.ts";
import { ATTEMPT_RULES } from "./attempt-rules.ts";
import { BATCH_RULES } from "./batch-rules.ts";
import { addBatch, Batches } from "./batches.ts";
import { EndpointHistory, RequestHistory, dropOld } from "./endpoint-rules.ts";
import { fileTotals } from "./file-totals.ts";
import { JobHistory, type Violation } from "./job-history.ts";
import { JOB_RULES } from "./job-rules.ts";
import { countsOfLate, LATE_RULES, type LateReports } from "./late-rules.ts";
import { type ObjectHistory, objectHistory } from "./object-rules.ts";
import { RESPONSE_RULES } from "./response-rules.ts";
import { RETURN_RULES } from "./return-rules.ts";
import { STORED, StoredObjectHistory } from "./stored-object-rules.ts";
import { STREAM_RULES } from "./stream-rules.ts";
import { UploadHistory } from "./upload-rules.ts";

const RULES = [
	...JOB_RULES,
	...ATTEMPT_RULES,
	...LATE_RULES,
	...RETURN_RULES,
	...STREAM_RULES,
	...BATCH_RULES,
	...RESPONSE_RULES,
];

/** Longest time until an answer that waits for nothing, ms, also in a partition. */
const ANSWER_MS = 40_000;

/** Closed jobs that are remembered at least, to recognise what arrives late. */
const REMEMBERED = 200_000;

export interface Checker {
	add(op: Op): void;
	/**
	 * Drops what no later operation needs, so that memory is bounded: no job that is open was
	 * submitted, and no request that has no answer was sent, before that moment.
	 */
	forget(before: number): void;
	/** Jobs, requests, purges, faults, and operations on objects and batches in memory. */
	readonly held: number;
	/** Judges what is left. Answers all violations. */
	finish(): Violation[];
	readonly violations: readonly Violation[];
	readonly counts: Counts;
}

export interface Counts {
	/** Jobs whose id a client got; jobs that were closed. */
	acknowledged: number;
	closed: number;
	operations: number;
	operationsByKind: Record<string, number>;
	/** Of closed jobs. */
	lateReports: LateReports;
	/** Batches whose files were read, by their final states. */
	batches: Readonly<Record<string, number>>;
}

export function checker(): Checker {
	const violations: Violation[] = [];
	const report = (violation: Violation): void => void violations.push(violation);
	const objects = new Map<string, ObjectHistory>();
	const uploads = new Map<string, UploadHistory>();
	const endpoints = new Map<string, EndpointHistory>();
	const jobs = new Map<string, JobHistory>();
	const requests = new Map<number, RequestHistory>();
	const faults: FaultOp[] = [];
	/** Answers that took too long, unless their server did not run. */
	const late: (Op & { from: number; to: number })[] = [];
	let closed = new Set<string>();
	let closedBefore = new Set<string>();
	const batches = new Batches({
		...{ report, requestOf },
		endpointOf: (id) => endpoints.get(id)!,
		jobOf: (id, endpoint) => (isClosed(id) ? undefined : jobOf(id, endpoint)),
	});
	const counts: Counts = {
		acknowledged: 0,
		closed: 0,
		operations: 0,
		operationsByKind: {},
		lateReports: { posted: 0, besideAnotherRun: 0, ended: 0 },
		batches: batches.ended,
	};

	const isClosed = (id: string): boolean => closed.has(id) || closedBefore.has(id);

	function jobOf(id: string, endpoint: string): JobHistory {
		let job = jobs.get(id);
		if (!job) {
			const { terms, purges, unsure } = endpoints.get(endpoint)!;
			jobs.set(id, (job = new JobHistory(id, terms, { purges, faults, unsure })));
		}
		return job;
	}

	function requestOf(n: number): RequestHistory {
		let request = requests.get(n);
		if (!request) requests.set(n, (request = new RequestHistory()));
		return request;
	}

	function submit(op: SubmitOp): void {
		endpoints.get(op.endpoint)!.submit(op);
		requestOf(op.n).add(op, op.job === undefined ? [] : [op.job]);
		if (op.job === undefined || op.result !== "ok") return;
		const job = jobOf(op.job, op.endpoint);
		if (!job.acknowledged()) counts.acknowledged += 1;
		job.numbers.add(op.n);
		job.add(op);
	}

	function take(op: TakeOp): void {
		endpoints.get(op.endpoint)!.take(op);
		for (const { id, n } of op.jobs) requestOf(n).add(op, [id]);
		for (const [id, entries] of Map.groupBy(op.jobs, (entry) => entry.id)) {
			if (isClosed(id)) {
				const what = "a job that had ended was handed out";
				report({ rule: "no-run-after-end", job: id, what, lines: [op] });
				continue;
			}
			const job = jobOf(id, op.endpoint);
			for (const { n } of entries) job.numbers.add(n);
			job.add({ ...op, jobs: entries });
		}
	}

	function bound(op: JobBoundOp): void {
		const job = jobs.get(op.job);
		if (!job) return;
		if (op.op === "cancel") endpoints.get(job.terms.id)!.leaves(op.job, op.from);
		job.add(op);
		if (op.op === "close") close(job);
	}

	function ping(op: PingOp): void {
		for (const id of op.named) jobs.get(id)?.add(op);
	}

	const isAborted = (upload: string): boolean => uploads.get(upload)?.isAborted === true;

	function objectOf(id: string): ObjectHistory {
		let object = objects.get(id);
		if (!object) {
			const isStored = id.startsWith(STORED);
			object = isStored ? new StoredObjectHistory(id, report, isAborted) : objectHistory(id, report);
			objects.set(id, object);
		}
		return object;
	}

	function addUpload(op: UploadOp): void {
		let upload = uploads.get(op.upload);
		if (!upload) {
			upload = new UploadHistory(objectOf(op.object) as StoredObjectHistory, report);
			uploads.set(op.upload, upload);
		}
		upload.add(op);
	}

	/** Requests without an answer that may have made the job. */
	function addUnanswered(job: JobHistory): void {
		for (const n of job.numbers) {
			const { submits, batch } = requests.get(n) ?? { submits: [] };
			for (const submitted of submits) if (submitted.job === undefined) job.add(submitted);
			if (batch) addBatch(job, batch);
		}
	}

	function close(job: JobHistory): void {
		addUnanswered(job);
		check(job);
		countsOfLate(job, counts.lateReports);
		endpoints.get(job.terms.id)!.close(job);
		counts.closed += 1;
		jobs.delete(job.id);
		closed.add(job.id);
		if (closed.size > REMEMBERED) [closedBefore, closed] = [closed, new Set()];
		for (const n of job.numbers) {
			const request = requests.get(n);
			if (!request) continue;
			for (const violation of request.check()) report({ ...violation, job: job.id });
			if ([...request.jobs].every(isClosed)) requests.delete(n);
		}
	}

	function check(job: JobHistory): void {
		for (const rule of RULES)
			for (const { lines, ...found } of rule(job))
				report({ ...found, job: job.id, lines: lines.length > 0 ? lines : job.lines });
	}

	return {
		violations,
		counts,
		add(op) {
			counts.operations += 1;
			const kind = kindOf(op);
			counts.operationsByKind[kind] = (counts.operationsByKind[kind] ?? 0) + 1;
			if (isPrompt(op) && op.to - op.from > ANSWER_MS) late.push(op);
			switch (op.op) {
				case "endpoint":
					return void endpoints.set(op.id, new EndpointHistory(op, report));
				case "submit":
					return submit(op);
				case "take":
					return take(op);
				case "ping":
					return ping(op);
				case "purge":
					return endpoints.get(op.endpoint)!.purge(op);
				case "health":
					return endpoints.get(op.endpoint)!.health(op);
				case "launched":
					return endpoints.get(op.endpoint)!.launched(op);
				case "change":
					return objectOf(op.object).change(op);
				case "shown":
					return objectOf(op.object).show(op);
				case "upload":
					return addUpload(op);
				case "batch":
					return batches.request(op);
				case "batch-read":
					return batches.read(op);
				case "batch-files":
					return batches.readFiles(op);
				case "file-totals":
					return fileTotals(op, report);
				case "fault":
					return void faults.push(op);
				default:
					return bound(op);
			}
		},
		get held() {
			const ofEndpoints = [...endpoints.values()].reduce((sum, { held }) => sum + held, 0);
			const ofObjects = [...objects.values(), ...uploads.values()].reduce((sum, { held }) => sum + held, 0);
			return jobs.size + requests.size + faults.length + ofEndpoints + ofObjects + batches.held;
		},
		forget(before) {
			for (const [n, { lines, jobs: made }] of requests)
				if ([...made].every(isClosed) && lines.every((op) => "to" in op && op.to < before)) requests.delete(n);
			for (const endpoint of endpoints.values()) endpoint.forget(before, faults);
			for (const upload of uploads.values()) upload.judge(before);
			for (const object of objects.values()) object.judge(before);
			for (const [id, upload] of uploads) if (upload.isOver(before)) uploads.delete(id);
			batches.forget(before);
			dropOld(faults, before);
		},
		finish() {
			for (const job of [...jobs.values()]) close(job);
			for (const endpoint of endpoints.values()) endpoint.finish(faults);
			batches.finish();
			for (const upload of uploads.values()) upload.judge(Infinity);
			for (const object of objects.values()) object.judge(Infinity);
			const others = faults.filter(({ what }) => !what.startsWith(PARTITION));
			for (const op of late)
				if (!others.some(({ from, to }) => from < op.to && to > op.from))
					report({ rule: "answers", what: `an answer took ${op.to - op.from} ms`, lines: [op] });
			return violations;
		},
	};
}

/** Operations that are answered at once, also while the store is unavailable (D40). */
function isPrompt(op: Op): op is Exclude<Op, EndpointTerms> {
	if (op.op === "submit") return op.operation === "run";
	if (op.op === "read") return op.how === "status";
	return op.op === "cancel" || op.op === "retry" || op.op === "purge";
}

/** As the summary of a run names it. */
function kindOf(op: Op): string {
	switch (op.op) {
		case "submit":
			return op.operation;
		case "read":
			return op.how;
		case "change":
			return `${op.object.split(" ")[0]} ${op.how}, ${op.result}`;
		case "shown":
			return `${op.object.split(" ")[0]} ${op.how ?? "read"}`;
		case "upload":
			return `upload ${op.how}, ${op.result}`;
		case "batch":
			return `batch, ${op.result}`;
		default:
			return op.op;
	}
}
