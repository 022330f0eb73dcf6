/** A chat in OpenAI's format: the request, the pieces of an answer, how fast it came. */
import type { Failure } from "../../client/api.ts";

export interface ChatSettings {
	model: string;
	system: string;
	/** As typed; empty: the worker's default. */
	temperature: string;
	maxTokens: string;
}

export interface Message {
	role: "system" | "user" | "assistant";
	content: string;
}

/** How fast an answer came. */
export interface Pace {
	/** Ms from the request to the first token; undefined if there was none. */
	firstMs: number | undefined;
	totalMs: number;
	tokens: number;
	/** The worker counted the tokens; otherwise they are the pieces that it sent. */
	counted: boolean;
}

export interface Piece {
	content: string;
	/** Text of models that reason before they answer. */
	reasoning: string;
}

export interface Completion {
	choices?: readonly { delta?: Said; message?: Said; text?: unknown }[];
	usage?: { completion_tokens?: unknown } | null;
	error?: unknown;
}

interface Said {
	content?: unknown;
	reasoning_content?: unknown;
}

/** The body of `/chat/completions`. */
export function chatBody(
	{ model, system, temperature, maxTokens }: ChatSettings,
	messages: readonly Message[],
): Record<string, unknown> {
	const number = (text: string): number | string => (Number.isNaN(Number(text)) ? text : Number(text));
	return {
		model,
		messages: [
			...(system.trim() === "" ? [] : [{ role: "system", content: system }]),
			...messages.map(({ role, content }) => ({ role, content })),
		],
		...(temperature.trim() === "" ? {} : { temperature: number(temperature) }),
		...(maxTokens.trim() === "" ? {} : { max_tokens: number(maxTokens) }),
		stream: true,
		stream_options: { include_usage: true },
	};
}

export const chatPath = (endpoint: string, route: string): string =>
	`v2/${encodeURIComponent(endpoint)}/openai/v1/${route}`;

export interface Exchange {
	question: string;
	answer: string;
	reasoning: string;
	/** Id of the job that answers. */
	job?: string;
	pace?: Pace;
	failure?: Failure;
	stopped?: true;
}

/** What the model reads of it: questions without an answer are left out, as roles must alternate. */
export function messagesOf(exchanges: readonly Exchange[]): Message[] {
	return exchanges.flatMap(({ question, answer }): Message[] =>
		answer === ""
			? []
			: [
					{ role: "user", content: question },
					{ role: "assistant", content: answer },
				],
	);
}

/** What a completion, or a piece of one, says. */
export function pieceOf({ choices: [first = {}] = [] }: Completion): Piece {
	const { delta, message, text } = first;
	const said = delta ?? message ?? { content: text };
	const words = (value: unknown): string => (typeof value === "string" ? value : "");
	return { content: words(said.content), reasoning: words(said.reasoning_content) };
}

/** Tokens per second after the first one; undefined where that says nothing. */
export function rateOf({ firstMs, totalMs, tokens }: Pace): number | undefined {
	const span = firstMs === undefined ? 0 : totalMs - firstMs;
	return span > 0 && tokens > 1 ? ((tokens - 1) * 1000) / span : undefined;
}
