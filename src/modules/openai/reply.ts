import { failureBody, type OpenAIFailure } from "./error-form.ts";
import { TOKEN_KINDS, type TokenUsage } from "./usage.ts";
import type { counts } from "../../kernel/engine/metrics/labelled.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { json } from "../../kernel/http/exchange/reply.ts";

/** Tokens of answers by endpoint, `input` and `output`. */
export type TokenCounts = ReturnType<typeof counts>;

export interface JobName {
	endpoint: string;
	id: string;
}

/** Maximum time between checks of a job, ms. Streams then get a comment, because proxies close idle connections. */
export const CHECK_MS = 15_000;

export const READ_BYTES = 1024 * 1024;

/** The official clients retry 409, 429 and 5xx, which is allowed only where a retry may succeed (D32). */
export function answerFailure({ res }: Call, failure: OpenAIFailure): void {
	const { status, retryAfter } = failure;
	const again = retryAfter === undefined ? ["x-should-retry", "false"] : ["Retry-After", String(retryAfter)];
	json(res, failureBody(failure), again, status);
}

/** Counts the tokens of an answer, once, and describes them in its span, if it is recorded. */
export function countTokens(
	{ trace }: Call,
	{ counts, endpoint, usage }: { counts: TokenCounts; endpoint: string; usage: TokenUsage | undefined },
): void {
	for (const kind of TOKEN_KINDS) {
		const tokens = usage?.[kind];
		if (tokens === undefined) continue;
		counts.add(tokens, endpoint, kind);
		if (trace?.attributes) trace.attributes[`gen_ai.usage.${kind}_tokens`] = tokens;
	}
}
