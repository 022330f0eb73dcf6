/** Accepts a job: persisted before its id is returned (D17), and offered to a parked poll in the same commit. */
import { DEFAULT_TTL_MS, type Endpoint, queueBound, retentionOf, storedBound } from "../../core/endpoints/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import type { Job, Operation } from "../../core/jobs/job.ts";
import type { JobResult } from "../../core/jobs/job-view.ts";
import { type JsonText, LARGE_BYTES, sizeOf } from "../../lib/json/json-text.ts";
import type { SubmissionOptions } from "../../core/jobs/submission.ts";
import type { JobDeps } from "./job-deps.ts";
import { megabytes } from "../availability/storage/stored-bytes.ts";
import { type JobQuery, resultAfter, statusSync, withOutput } from "./status.ts";
import type { Caller } from "./wait.ts";

export interface SubmitRequest {
	id: string;
	endpoint: Endpoint;
	operation: Operation;
	options: SubmissionOptions;
	/** Names of members without effect. */
	ignored?: readonly string[];
	/** Input as it was sent (D5). */
	input: JsonText;
	/** JSON text. */
	s3Config?: string | undefined;
	/** How long result and record are kept, ms. Default: as the endpoint says. */
	kept?: { retainMs: number; recordMs: number } | undefined;
	/** `bodyHash`: SHA-256, hex (D14). */
	idempotency?: { key: string; bodyHash: string } | undefined;
	/** See `Job`. */
	trace?: string | undefined;
	requestId?: string | undefined;
	/** Called when the store has answered, with the id of the job if it was stored. `input` is not used after that. */
	stored?: (job: string | undefined) => void;
}

/** How long an idempotency key is remembered (D14). */
const KEY_KEPT_MS = 86_400_000;

/**
 * Returns the job of an earlier submission under the same key, if any. Throws `store_unavailable` while its disk is
 * almost full (D41), `store_full`, `quota_full` and `gpu_quota_used` (D43), `queue_full` (D23), `idempotency_reused`,
 * `idempotency_expired` (D14).
 */
export async function submit(d: JobDeps, q: SubmitRequest): Promise<Job> {
	const { endpoint, operation, options, id } = q;
	const size = sizeOf(q.input);
	const lack = lackOfSpace(d, size);
	// A large input is written before the store looks for the key.
	if (lack && size >= LARGE_BYTES) throw lack;
	const refusing = lack ?? d.hooks.refusal?.(endpoint);
	const refusal = refusing && (await refusing);
	// A repeated submission gets its job nevertheless; the bound of -1 refuses a new one.
	if (refusal && !q.idempotency) throw refusal;
	const bound = refusal ? -1 : queueBound(endpoint);
	const most = storedBound(endpoint);
	const answer = await d.store.jobs.insert({
		submission: {
			id,
			endpoint: endpoint.id,
			operation,
			lowPriority: options.lowPriority,
			ttlMs: options.ttlMs ?? DEFAULT_TTL_MS,
			executionTimeoutMs: options.executionTimeoutMs ?? endpoint.executionTimeoutMs,
			leaseMs: endpoint.leaseMs,
			retainMs: q.kept?.retainMs ?? retentionOf(endpoint, operation),
			recordMs: q.kept?.recordMs ?? endpoint.retention.records,
			webhook: options.webhook,
			trace: q.trace,
			requestId: q.requestId,
			s3Config: q.s3Config === undefined ? undefined : d.access.encryption.encrypt(q.s3Config),
		},
		input: q.input,
		now: d.now(),
		queueBound: bound,
		storedBound: most,
		idempotency: q.idempotency && { ...q.idempotency, keptMs: KEY_KEPT_MS },
		// Before the insert is committed: the claim joins its batch and runs after it.
		sent: () => d.dispatch.announce(endpoint.id),
	});
	// Frees the memory, since callers may wait for minutes.
	q.input = "";
	q.stored?.(answer.ok ? answer.job.id : undefined);
	if (!answer.ok) {
		if (answer.why === "full" && refusal) throw refusal;
		if (answer.why === "full") throw new ApiError("queue_full", { endpoint: endpoint.id, limit: bound ?? 0 });
		if (answer.why === "stored")
			throw new ApiError("quota_full", {
				endpoint: endpoint.id,
				stored: megabytes(answer.stored),
				size: megabytes(size),
				limit: megabytes(most ?? 0),
			});
		if (answer.why === "key_reused") throw new ApiError("idempotency_reused");
		throw new ApiError("idempotency_expired", {
			fate: answer.state === undefined ? "was removed" : `ended as ${answer.state}, has expired`,
		});
	}
	if (!answer.repeated) d.events.emit("job.queued", { endpoint: endpoint.id, id, ignored: q.ignored });
	return answer.job;
}

/** Why the store may take no more bytes. */
function lackOfSpace({ space, stored }: Pick<JobDeps, "space" | "stored">, size: number): ApiError | undefined {
	try {
		space.admit();
		stored.admit(size);
		return undefined;
	} catch (error) {
		if (error instanceof ApiError) return error;
		throw error;
	}
}

/** Waits at most `ms` for the end, then returns the job as it is (D8). */
export async function submitAndWait(
	d: JobDeps,
	q: SubmitRequest,
	{ ms, caller, output }: { ms: number; caller: Caller } & Pick<JobQuery, "output">,
): Promise<JobResult> {
	const until = d.clock.now() + ms;
	const end = d.waiters.forEnd({ endpoint: q.endpoint.id, id: q.id, ms, caller, early: true });
	try {
		const job = await submit(d, q);
		end.stored();
		if (job.id === q.id) return withOutput(d, await resultAfter(d, job, end), output);
		end.leave();
		const { endpoint, id } = job;
		return await statusSync(d, { endpoint, id, ms: until - d.clock.now(), caller, output });
	} finally {
		end.leave();
	}
}
