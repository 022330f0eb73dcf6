/** What the fake servers of language models say: the same words each time, one token for each. */
import type { ServerResponse } from "node:http";

/** A message after whose first token nothing follows, until the client leaves. */
export const HOLD = "never end";
/** A message after whose first token the model fails. */
export const FAIL = "run out of memory";

export const FAILURE = "CUDA out of memory";

/** The tokens of an answer. */
export const tokensOf = (message: string): string[] => ["You", " said", ...message.split(/(?= )/).map(spaced), "."];

const spaced = (word: string): string => (word.startsWith(" ") ? word : ` ${word}`);

/** The text of the last message, which may have parts. */
export function lastText(messages: readonly { content: string | readonly { text?: string }[] }[]): string {
	const content = messages.at(-1)?.content ?? "";
	return typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
}

/** A vector for a text. Its numbers are exact with 32 bits. */
export const vectorOf = (text: string): number[] => [text.length, text.length / 4, -0.5];

export type TokenStreams = ReturnType<typeof tokenStreams>;

/** Answers that are streams, which it counts. */
export function tokenStreams() {
	let open = 0;
	return {
		open: () => open,
		/** Writes an answer token by token: the first, then what the message asks for. */
		write(
			response: ServerResponse,
			{ message, token, failure, end }: { message: string; token(text: string): string; failure: string; end: string },
		): void {
			open += 1;
			response.on("close", () => void (open -= 1));
			const [first, ...others] = tokensOf(message);
			response.write(token(first!));
			if (message === HOLD) return;
			if (message === FAIL) return void response.end(failure);
			for (const each of others) response.write(token(each));
			response.end(end);
		},
	};
}
