/** Tokens of an answer of `/openai/*`, by its `usage`: searched for, not parsed, because most of the text is not its. */

export const TOKEN_KINDS = ["input", "output"] as const;

export type TokenUsage = Partial<Record<(typeof TOKEN_KINDS)[number], number>>;

/** Characters of `usage` up to its numbers of tokens. */
const USAGE_CHARS = 1024;

const HEADS = ['"usage":{', '"usage": {'];

/** Both APIs of OpenAI; embeddings have no output. */
const COUNTS = {
	input: /"(?:prompt|input)_tokens"\s*:\s*(\d{1,15})\b/,
	output: /"(?:completion|output)_tokens"\s*:\s*(\d{1,15})\b/,
};

/**
 * Of the last `usage` in JSON or events, which repeat it where they count on. A text in a string of JSON is none:
 * its quotes have a backslash.
 */
export function usageIn(text: string): TokenUsage | undefined {
	const at = Math.max(...HEADS.map((head) => text.lastIndexOf(head)));
	if (at < 0) return undefined;
	const part = text.slice(at, at + USAGE_CHARS);
	const found = TOKEN_KINDS.flatMap((kind) => {
		const tokens = COUNTS[kind].exec(part)?.[1];
		return tokens === undefined ? [] : [[kind, Number(tokens)] as const];
	});
	return Object.fromEntries(found);
}
