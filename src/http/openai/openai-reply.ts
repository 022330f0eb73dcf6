/** What both forms of answers of `/openai/*` share (D32). */
import { failureBody } from "../../core/openai/openai-error.ts";
import type { OpenAIFailure } from "../../core/openai/openai-error.ts";
import type { Call } from "../call.ts";
import { json } from "../reply.ts";

/** The job behind a request. */
export interface JobName {
	endpoint: string;
	id: string;
}

/**
 * A waiting request checks its job at least this often, ms, and then writes a comment into a
 * stream: proxies close idle connections.
 */
export const CHECK_MS = 15_000;

/**
 * Answers with a failure of the job. The official clients retry 409, 429 and 5xx automatically;
 * they are allowed to only where a retry may succeed.
 */
export function answerFailure({ res }: Call, failure: OpenAIFailure): void {
	const { status, retryAfter } = failure;
	const again =
		retryAfter === undefined ? ["x-should-retry", "false"] : ["Retry-After", String(retryAfter)];
	json(res, failureBody(failure), again, status);
}
