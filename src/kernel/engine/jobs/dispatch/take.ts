/** A worker asks for jobs (protocol B.2, B.3). */
import { ApiError } from "../../../core/errors.ts";
import { type Job, runOf } from "../../../core/jobs/job.ts";
import { clientTrace, type TraceContext } from "../../../core/trace.ts";
import type { JsonText } from "../../../lib/json/json-text.ts";
import type { Claimed } from "../../../store/contract/jobs.ts";
import type { Encryption } from "../../../secrets/encryption.ts";
import { countPoll, ENDED, holdPoll } from "../../workers/polls.ts";
import type { Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";
import { endStops, idleTake, isKnownIdle } from "./idle-take.ts";
import { report } from "./report.ts";
import { takeWarmup } from "./warmup.ts";

export interface DispatchedJob {
	id: string;
	attempt: number;
	/** Absent for a warm-up. */
	run?: number;
	input: JsonText;
	/** JSON text. */
	s3Config?: string | undefined;
	trace?: TraceContext | undefined;
	requestId?: string | undefined;
}

/** A job that must fail instead. `damage`: for the log. */
interface UnreadableJob {
	id: string;
	error: string;
	damage?: string | undefined;
}

const OTHER_SECRET =
	"The s3Config of the job was stored under another SLUICE_SECRET and cannot be read. " +
	"Submit the job again, or start the service with its earlier secret.";

const DAMAGED = "The stored input of the job is damaged: it is not as it was submitted. Submit the job again.";

/**
 * Returns jobs for a worker, or none when the poll ended. `idle`: the worker reports that it runs nothing, see
 * `idle-take.ts`. Throws `duplicate_worker_id` and, while the worker or the service drains, `draining`.
 */
export async function take(
	d: JobDeps,
	q: { worker: Worker; limit: number; idle: boolean; signal: AbortSignal },
): Promise<DispatchedJob[]> {
	const { worker } = q;
	const began = d.now();
	if (worker.takes > 0) {
		d.events.emit("worker.duplicate", { endpoint: worker.endpoint, worker: worker.id });
		throw new ApiError("duplicate_worker_id", { worker: worker.id });
	}
	const isDraining = (): boolean => worker.draining || d.dispatch.closed;
	if (isDraining()) throw new ApiError("draining");
	const over = countPoll(worker, "takes", { now: d.now, signal: q.signal });
	let takeEnd: AbortController | undefined;
	// A worker that asks for a job is fit for one.
	worker.unhealthy = false;
	try {
		if (q.idle) endStops(d, worker);
		if (q.idle && !isKnownIdle(worker)) {
			takeEnd = new AbortController();
			await idleTake(d, worker, { began, signal: AbortSignal.any([q.signal, takeEnd.signal]) });
		}
		// Jobs that it runs were sent to it by other servers.
		if (!q.idle && worker.held.size === 0) worker.knownIdle = false;
		// The polls may have been ended while the store was read.
		if (isDraining()) return [];
		const warmup = takeWarmup(d, worker, q);
		if (warmup) return [warmup];
		const { ended, done } = holdPoll(d.clock, worker, q.signal);
		try {
			if (worker.warmup) {
				await ended;
				return [];
			}
			const claimed = await d.dispatch.take({ worker, limit: q.limit, ended });
			const { jobs, unreadable } = readClaimed(claimed, {
				encryption: d.access.encryption,
				traceOf: d.hooks.traces?.attempt ?? clientTrace,
				hasRequestIds: d.endpoints.has(worker.endpoint) && d.endpoints.get(worker.endpoint).passRequestId,
			});
			for (const { id, error, damage } of unreadable) {
				if (damage !== undefined) d.events.emit("fault", { where: `reading the input of job ${id}`, error: damage });
				await report(d, { worker, id, report: { kind: "end", on: "fail", error, restart: false } });
			}
			return jobs;
		} finally {
			done();
		}
	} finally {
		takeEnd?.abort(ENDED);
		over();
	}
}

function readClaimed(
	claimed: readonly Claimed[],
	q: { encryption: Encryption; traceOf: (job: Job) => TraceContext | undefined; hasRequestIds: boolean },
): { jobs: DispatchedJob[]; unreadable: UnreadableJob[] } {
	const jobs: DispatchedJob[] = [];
	const unreadable: UnreadableJob[] = [];
	for (const { job, input, damage } of claimed) {
		const { id, attempt, s3Config } = job;
		const requestId = q.hasRequestIds ? job.requestId : undefined;
		const decrypted = s3Config === undefined ? { ok: true as const, text: undefined } : q.encryption.decrypt(s3Config);
		if (input === undefined) unreadable.push({ id, error: DAMAGED, damage });
		else if (decrypted.ok)
			jobs.push({
				id,
				attempt,
				run: runOf(job),
				input,
				s3Config: decrypted.text,
				trace: q.traceOf(job),
				requestId,
			});
		else unreadable.push({ id, error: OTHER_SECRET });
	}
	return { jobs, unreadable };
}
