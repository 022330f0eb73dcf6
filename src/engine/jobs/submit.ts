/**
 * Accepts a job: on disk before its id is told (D17), then offered to a waiting worker in the same
 * commit.
 */
import type { Endpoint } from "../../core/endpoint.ts";
import { DEFAULT_TTL_MS, queueBound, retentionOf } from "../../core/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import type { Job, Operation } from "../../core/job.ts";
import type { JsonText } from "../../core/json/json-text.ts";
import type { SubmissionOptions } from "../../core/submission.ts";
import type { EventBus } from "../../events.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Encryption } from "../access/encryption.ts";

/** A checked submission with its texts. */
export interface SubmitRequest {
	id: string;
	endpoint: Endpoint;
	operation: Operation;
	wish: SubmissionOptions;
	/** `input`, kept as it came (D5). */
	input: JsonText;
	/** JSON text of `s3Config`. */
	s3Config?: string | undefined;
	/** The client's key and the SHA-256 of the body, hex (D14). */
	idempotency?: { key: string; bodyHash: string };
}

/** How long an idempotency key is remembered, ms (D14). */
const KEY_KEPT_MS = 86_400_000;

/**
 * Queues the job and answers it, or the job of an earlier submission under the same key. Throws
 * `queue_full` (D23), `idempotency_reused`, `idempotency_expired` (D14).
 */
export async function submit(
	d: {
		jobs: JobStore;
		now: () => number;
		events: EventBus;
		dispatch: Dispatch;
		seal: Encryption;
		onQueued: (endpoint: string) => void;
	},
	q: SubmitRequest,
): Promise<Job> {
	const { endpoint, operation, wish, id } = q;
	const bound = queueBound(endpoint);
	const inserted = d.jobs.insert({
		submission: {
			id,
			endpoint: endpoint.id,
			operation,
			lowPriority: wish.lowPriority,
			ttlMs: wish.ttlMs ?? DEFAULT_TTL_MS,
			executionTimeoutMs: wish.executionTimeoutMs ?? endpoint.executionTimeoutMs,
			leaseMs: endpoint.leaseMs,
			retainMs: retentionOf(endpoint, operation),
			recordMs: endpoint.retention.records,
			webhook: wish.webhook,
			s3Config: q.s3Config === undefined ? undefined : d.seal.close(q.s3Config),
		},
		input: q.input,
		now: d.now(),
		queueBound: bound,
		...(q.idempotency ? { idempotency: { ...q.idempotency, keptMs: KEY_KEPT_MS } } : {}),
	});
	// Before the insert is on disk: the claim joins its batch and runs after it.
	d.dispatch.announce(endpoint.id);
	const answer = await inserted;
	if (!answer.ok) {
		if (answer.why === "full")
			throw new ApiError("queue_full", { endpoint: endpoint.id, limit: bound ?? 0 });
		if (answer.why === "key_reused") throw new ApiError("idempotency_reused");
		throw new ApiError("idempotency_expired", {
			fate: answer.state === undefined ? "was removed" : `ended as ${answer.state}, has expired`,
		});
	}
	if (answer.repeated) return answer.job;
	d.events.emit("job.queued", { endpoint: endpoint.id, id });
	d.onQueued(endpoint.id);
	return answer.job;
}
