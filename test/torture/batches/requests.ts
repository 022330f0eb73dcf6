/** The requests of a campaign's batch, and what the worker answers: a function of the number of each alone. */

export const ENDPOINT = "batch";
export const PATH = "/v1/chat/completions";

/** What the worker says of a request that fails. */
export const FAILURE = "no such model";

/** One request of so many fails, and one of so many has an answer in a payload file. */
const [FAILS, LARGE, LARGE_BYTES] = [50, 97, 100_000];

export const fails = (n: number): boolean => n % FAILS === FAILS - 1;

export const idOf = (n: number): string => `line-${n}`;

/** Undefined for a text that is none of these. */
export function numberOf(id: string): number | undefined {
	const n = Number(/^line-(\d+)$/.exec(id)?.[1]);
	return Number.isSafeInteger(n) ? n : undefined;
}

export const lineOf = (n: number): string =>
	JSON.stringify({ custom_id: idOf(n), method: "POST", url: PATH, body: { model: "m", n, messages: [] } });

export function answerTo(n: number): object {
	return {
		object: "chat.completion",
		n,
		text: "x".repeat(n % LARGE === LARGE - 1 ? LARGE_BYTES : n % 200),
		usage: {
			prompt_tokens: 1 + (n % 7),
			completion_tokens: 1 + (n % 11),
			prompt_tokens_details: { cached_tokens: n % 3 },
			completion_tokens_details: { reasoning_tokens: n % 5 },
		},
	};
}
