/** Tokens of an answer of `/openai/*`, by its `usage`: searched for and not parsed, as most of the text is not its. */

export const TOKEN_KINDS = ["input", "output"] as const;

export type TokenUsage = Partial<Record<(typeof TOKEN_KINDS)[number], number | undefined>>;

/** Characters of `usage` up to its numbers of tokens. */
const USAGE_CHARS = 1024;

/**
 * Returns the last `usage` in JSON or events: streams may have one in each. A text in a string of JSON is none, because
 * its quotes have a backslash. Names are those of both APIs; embeddings have no output.
 */
export function usageIn(text: string): TokenUsage | undefined {
	const at = Math.max(text.lastIndexOf('"usage":{'), text.lastIndexOf('"usage": {'));
	if (at < 0) return undefined;
	const part = text.slice(at, at + USAGE_CHARS);
	const count = (name: RegExp): number | undefined => {
		const digits = name.exec(part)?.[1];
		return digits === undefined ? undefined : Number(digits);
	};
	return {
		input: count(/"(?:prompt|input)_tokens"\s*:\s*(\d{1,15})\b/),
		output: count(/"(?:completion|output)_tokens"\s*:\s*(\d{1,15})\b/),
	};
}
