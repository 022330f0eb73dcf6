/** Tokens of an answer of `/openai/*`, by its `usage`: searched for and not parsed, as most of the text is not its. */

import { cut, type JsonText, sizeOf, stringOf } from "../../kernel/lib/json/json-text.ts";

export const TOKEN_KINDS = ["input", "output"] as const;

export type TokenUsage = Partial<Record<(typeof TOKEN_KINDS)[number], number | undefined>>;

/** Characters of `usage` up to its numbers of tokens. */
const USAGE_CHARS = 1024;

/** Bytes at the end of a large answer, with its `usage`. */
const TAIL_BYTES = 4096;

/** The text in which the `usage` of an answer is. */
export function usageText(body: JsonText): string {
	return stringOf(typeof body === "string" ? body : cut(body, Math.max(0, sizeOf(body) - TAIL_BYTES), sizeOf(body)));
}

/**
 * Returns the last `usage` in JSON or events: streams may have one in each. A text in a string of JSON is none, because
 * its quotes have a backslash. Names are those of both APIs; embeddings have no output.
 */
export function usageIn(text: string): TokenUsage | undefined {
	const count = counterOf(text);
	return count && { input: count("prompt_tokens|input_tokens"), output: count("completion_tokens|output_tokens") };
}

/** Returns which of the tokens of the last `usage` were in a cache, and which were reasoning. */
export function usageDetailsIn(text: string): { cached?: number | undefined; reasoning?: number | undefined } {
	const count = counterOf(text);
	return count ? { cached: count("cached_tokens"), reasoning: count("reasoning_tokens") } : {};
}

/** `names`: alternatives of a regular expression. */
function counterOf(text: string): ((names: string) => number | undefined) | undefined {
	const at = Math.max(text.lastIndexOf('"usage":{'), text.lastIndexOf('"usage": {'));
	if (at < 0) return undefined;
	const part = text.slice(at, at + USAGE_CHARS);
	return (names) => {
		const digits = new RegExp(`"(?:${names})"\\s*:\\s*(\\d{1,15})\\b`).exec(part)?.[1];
		return digits === undefined ? undefined : Number(digits);
	};
}
