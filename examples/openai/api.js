/**
 * OpenAI's routes over the generator: requests are checked, text becomes completions or chunks of
 * them.
 */
import { generate, seeded, tokensOf } from "./markov.js";
import { response, responseEvents } from "./responses.js";

export const MODEL = "harbour-1";
const MOST_TOKENS = 4096;
const DEFAULT_TOKENS = 64;

/** An answer that OpenAI's API gives as an error: `status` and the members of the error object. */
export class ApiError extends Error {
	constructor(status, message, { type = "invalid_request_error", param = null, code = null } = {}) {
		super(message);
		this.status = status;
		this.body = { error: { message, type, param, code } };
	}
}

/**
 * Answers one request: yields one object, or with `stream: true` the text of server-sent events,
 * token by token.
 *
 * @param {string} route such as "/v1/chat/completions"
 * @param {Record<string, unknown> | undefined} body absent for a GET
 * @param {{ id: string, now: number, random: () => number, signal?: AbortSignal }} context `now` in
 * ms since the epoch; `random` is used where the request has no seed
 * @returns {AsyncGenerator<object | string>}
 * @throws {ApiError} when the request is wrong; the signal's reason when it aborts
 */
export async function* reply(route, body, context) {
	if (route === "/v1/models" && body === undefined)
		yield {
			object: "list",
			data: [{ id: MODEL, object: "model", created: 0, owned_by: "sluice" }],
		};
	else if (route === "/v1/chat/completions" && body !== undefined)
		yield* complete(CHAT, body, promptOfChat(body), context);
	else if (route === "/v1/completions" && body !== undefined) yield* complete(TEXT, body, promptOfText(body), context);
	else if (route === "/v1/responses" && body !== undefined) yield* respond(body, context);
	else
		throw new ApiError(
			404,
			`There is no route ${body === undefined ? "GET" : "POST"} ${route} here. Known are GET /v1/models and POST to /v1/chat/completions, /v1/completions and /v1/responses.`,
		);
}

async function* respond(body, { id, now, random, signal }) {
	const { input, max_output_tokens, stream } = body;
	const prompt = typeof input === "string" ? input : promptOfChat({ messages: input });
	const { temperature, seed, maxTokens } = settings({ ...body, max_tokens: max_output_tokens ?? undefined });
	const count = { tokens: 0 };
	const tokens = generate({ prompt, temperature, random: seed === undefined ? random : seeded(seed) });
	const pieces = limited(tokens, maxTokens, count);
	const head = { id: `resp_${id}`, created_at: Math.floor(now / 1000), model: MODEL };
	const usage = () => ({ input_tokens: tokensOf(prompt).length, output_tokens: count.tokens });
	if (stream) yield* responseEvents(head, pieces, { usage, signal });
	else yield response(head, pieces, { usage, signal });
}

/** The two kinds of completion: the same work in other words. */
const CHAT = {
	prefix: "chatcmpl",
	object: "chat.completion",
	chunkObject: "chat.completion.chunk",
	whole: (text, finish_reason) => ({
		index: 0,
		message: { role: "assistant", content: text },
		logprobs: null,
		finish_reason,
	}),
	begin: {
		index: 0,
		delta: { role: "assistant", content: "" },
		logprobs: null,
		finish_reason: null,
	},
	piece: (text) => ({ index: 0, delta: { content: text }, logprobs: null, finish_reason: null }),
	end: (finish_reason) => ({ index: 0, delta: {}, logprobs: null, finish_reason }),
};
const TEXT = {
	prefix: "cmpl",
	object: "text_completion",
	chunkObject: "text_completion",
	whole: (text, finish_reason) => ({ index: 0, text, logprobs: null, finish_reason }),
	piece: (text) => ({ index: 0, text, logprobs: null, finish_reason: null }),
	end: (finish_reason) => ({ index: 0, text: "", logprobs: null, finish_reason }),
};

async function* complete(kind, body, prompt, { id, now, random, signal }) {
	const { temperature, seed, maxTokens, stops, stream, includeUsage } = settings(body);
	const head = {
		id: `${kind.prefix}-${id}`,
		object: stream ? kind.chunkObject : kind.object,
		created: Math.floor(now / 1000),
		model: MODEL,
	};
	const count = { tokens: 0 };
	const pieces = untilStop(
		limited(generate({ prompt, temperature, random: seed === undefined ? random : seeded(seed) }), maxTokens, count),
		stops,
	);
	const usage = () => {
		const prompt_tokens = tokensOf(prompt).length;
		return {
			prompt_tokens,
			completion_tokens: count.tokens,
			total_tokens: prompt_tokens + count.tokens,
		};
	};
	if (!stream) {
		let text = "";
		for (let next = pieces.next(); ; next = pieces.next()) {
			signal?.throwIfAborted();
			if (next.done) {
				yield { ...head, choices: [kind.whole(text, next.value)], usage: usage() };
				return;
			}
			text += next.value;
		}
	}
	const event = (choices, more = {}) =>
		`data: ${JSON.stringify({ ...head, choices, ...(includeUsage ? { usage: null } : {}), ...more })}\n\n`;
	if (kind.begin) yield event([kind.begin]);
	for (let next = pieces.next(); ; next = pieces.next()) {
		signal?.throwIfAborted();
		if (next.done) {
			yield event([kind.end(next.value)]);
			break;
		}
		yield event([kind.piece(next.value)]);
	}
	if (includeUsage) yield event([], { usage: usage() });
	yield "data: [DONE]\n\n";
}

/** At most so many tokens; returns why it ended. */
function* limited(tokens, most, count) {
	for (const token of tokens) {
		if (count.tokens === most) return "length";
		count.tokens += 1;
		yield token;
	}
	return "stop";
}

/**
 * The text up to a stop sequence, which may lie across tokens: what could be the beginning of one
 * is held back.
 */
function* untilStop(tokens, stops) {
	let held = "";
	for (let next = tokens.next(); ; next = tokens.next()) {
		if (next.done) {
			if (held !== "") yield held;
			return next.value;
		}
		held += next.value;
		const found = stops.map((stop) => held.indexOf(stop)).filter((at) => at >= 0);
		if (found.length > 0) {
			const text = held.slice(0, Math.min(...found));
			if (text !== "") yield text;
			return "stop";
		}
		const keep = Math.max(0, ...stops.map((stop) => overlap(held, stop)));
		const text = held.slice(0, held.length - keep);
		if (text !== "") yield text;
		held = held.slice(held.length - keep);
	}
}

/** How many characters at the end of `text` begin `stop`. */
function overlap(text, stop) {
	for (let length = Math.min(text.length, stop.length - 1); length > 0; length -= 1)
		if (text.endsWith(stop.slice(0, length))) return length;
	return 0;
}

function settings(body) {
	const { model, n, temperature, seed, stop, stream, stream_options: options } = body;
	if (model !== MODEL)
		throw new ApiError(404, `The model ${JSON.stringify(model)} does not exist. GET /v1/models lists those that do.`, {
			param: "model",
			code: "model_not_found",
		});
	if ((n ?? 1) !== 1) throw wrong("n", "must be 1: one completion is made for each request");
	const most = body.max_completion_tokens ?? body.max_tokens ?? DEFAULT_TOKENS;
	if (!Number.isInteger(most) || most < 1 || most > MOST_TOKENS)
		throw wrong("max_tokens", `must be a whole number from 1 to ${MOST_TOKENS}`);
	if (temperature != null && !(typeof temperature === "number" && temperature >= 0 && temperature <= 2))
		throw wrong("temperature", "must be a number from 0 to 2");
	if (seed != null && !Number.isInteger(seed)) throw wrong("seed", "must be a whole number");
	const stops = stop == null ? [] : [stop].flat();
	if (stops.length > 4 || !stops.every((each) => typeof each === "string" && each !== ""))
		throw wrong("stop", "must be a text or a list of at most 4 texts");
	return {
		maxTokens: most,
		temperature: temperature ?? 1,
		seed: seed ?? undefined,
		stops,
		stream: stream === true,
		includeUsage: stream === true && options?.include_usage === true,
	};
}

function promptOfChat({ messages }) {
	if (!Array.isArray(messages) || messages.length === 0)
		throw wrong("messages", "must be a list of at least one message");
	return messages
		.map((message, index) => {
			const content = message?.content ?? "";
			const text = Array.isArray(content) ? content.map((part) => part?.text ?? "").join(" ") : content;
			if (typeof text !== "string") throw wrong(`messages[${index}].content`, "must be a text or a list of text parts");
			return text;
		})
		.join("\n");
}

function promptOfText({ prompt = "" }) {
	if (typeof prompt !== "string") throw wrong("prompt", "must be a text: one completion is made for each request");
	return prompt;
}

function wrong(param, bound) {
	return new ApiError(400, `'${param}' ${bound}.`, { param });
}
