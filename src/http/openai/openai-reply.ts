/** Failures of `/openai/*` on the wire (D32), and what its two ways of answering share. */
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
 * A waiting request looks at its job at least this often, ms, and then writes a comment into a
 * stream, so that proxies keep the connection.
 */
export const LOOK_MS = 15_000;

/**
 * Answers with a failure of the job. The official clients repeat 409, 429 and 5xx by themselves:
 * only where another try may do better are they let.
 */
export function answerFailure({ res }: Call, failure: OpenAIFailure): void {
	const { status, retryAfter } = failure;
	const again =
		retryAfter === undefined ? ["x-should-retry", "false"] : ["Retry-After", String(retryAfter)];
	json(res, failureBody(failure), again, status);
}
