/** Shared by both forms of `/openai/*` answers (D32). */
import { failureBody, type OpenAIFailure } from "../../core/openai/openai-error.ts";
import type { Call } from "../call.ts";
import { json } from "../reply.ts";

/** The job behind a request. */
export interface JobName {
	endpoint: string;
	id: string;
}

/**
 * Maximum time between checks of a waiting request's job, ms. Streams then get a comment: proxies
 * close idle connections.
 */
export const CHECK_MS = 15_000;

/** Maximum chunk text of one read. */
export const READ_BYTES = 1024 * 1024;

/**
 * Answers with a job failure. The official clients retry 409, 429 and 5xx; allowed only where a
 * retry may succeed.
 */
export function answerFailure({ res }: Call, failure: OpenAIFailure): void {
	const { status, retryAfter } = failure;
	const again = retryAfter === undefined ? ["x-should-retry", "false"] : ["Retry-After", String(retryAfter)];
	json(res, failureBody(failure), again, status);
}
