/**
 * A server with OpenAI's API as vLLM has it (entrypoints/openai): its routes, members, streams and errors.
 * `audio/speech` and `images/generations` are as vLLM-Omni has them.
 */
import type { ServerResponse } from "node:http";
import { httpServer, json, type Received } from "../../support/worker-kit/http-servers.ts";
import { FAILURE, lastText, tokensOf, type TokenStreams, tokenStreams, vectorOf } from "./model.ts";

export interface OpenAiServer {
	port: number;
	/** The requests, in the order of their ends. */
	readonly received: readonly Received[];
	/** Streams that have not ended. */
	streams(): number;
	close(): Promise<void>;
}

/** What all answers have. */
interface Model {
	model: string;
	/** Of all answers, s. */
	created: number;
	streams: TokenStreams;
}

type Route = (response: ServerResponse, body: any, model: Model) => unknown;

const SPEECH_TYPES: Readonly<Record<string, string>> = { mp3: "audio/mpeg", wav: "audio/wav", opus: "audio/opus" };

const failure = (code: number, type: string, message: string, param: string | null = null) => ({
	error: { message, type, param, code },
});

const usageOf = (prompt: string, completion_tokens: number) => ({
	prompt_tokens: prompt.length,
	total_tokens: prompt.length + completion_tokens,
	completion_tokens,
	prompt_tokens_details: null,
});

/** Writes the chunks of a stream. `choice`: of a token, or of the end without one. */
function stream(
	response: ServerResponse,
	{ streams }: Model,
	{
		message,
		shape,
		isCounted,
		choice,
	}: { message: string; shape: object; isCounted: boolean; choice(token: string | undefined): object },
): void {
	const sse = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
	const chunk = (choices: object[], usage: object | null = null) =>
		sse({ ...shape, choices, ...(isCounted && { usage }) });
	const count = isCounted ? chunk([], usageOf(message, tokensOf(message).length)) : "";
	response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
	streams.write(response, {
		message,
		token: (text) => chunk([choice(text)]),
		// An engine that fails sends the end nevertheless.
		failure: `${sse(failure(500, "InternalServerError", FAILURE))}data: [DONE]\n\n`,
		end: `${chunk([choice(undefined)])}${count}data: [DONE]\n\n`,
	});
}

const chat: Route = (response, body, model) => {
	if (!Array.isArray(body.messages))
		return json(response, failure(400, "Bad Request", "Field required", "messages"), 400);
	const message = lastText(body.messages);
	const shape = { id: "chatcmpl-1", created: model.created, model: model.model };
	if (body.stream === true) {
		let isFirst = true;
		return stream(response, model, {
			message,
			shape: { ...shape, object: "chat.completion.chunk" },
			isCounted: body.stream_options?.include_usage === true,
			choice(content) {
				const delta = content === undefined ? {} : { ...(isFirst && { role: "assistant" }), content };
				isFirst = false;
				return { index: 0, delta, logprobs: null, finish_reason: content === undefined ? "stop" : null };
			},
		});
	}
	const tokens = tokensOf(message);
	const said = { role: "assistant", content: tokens.join(""), refusal: null, annotations: null, tool_calls: [] };
	json(response, {
		...shape,
		object: "chat.completion",
		choices: [{ index: 0, message: said, logprobs: null, finish_reason: "stop", stop_reason: null }],
		usage: usageOf(message, tokens.length),
		prompt_logprobs: null,
	});
};

const complete: Route = (response, { prompt, stream: isStream, stream_options }, model) => {
	const shape = { id: "cmpl-1", object: "text_completion", created: model.created, model: model.model };
	const choice = (text: string, isEnd: boolean) => ({
		...{ index: 0, text, logprobs: null, finish_reason: isEnd ? "stop" : null, stop_reason: null },
	});
	if (isStream === true)
		return stream(response, model, {
			message: prompt,
			shape,
			isCounted: stream_options?.include_usage === true,
			choice: (token) => choice(token ?? "", token === undefined),
		});
	const tokens = tokensOf(prompt);
	json(response, { ...shape, choices: [choice(tokens.join(""), true)], usage: usageOf(prompt, tokens.length) });
};

/** The client asks for base64 of floats in the order of x86, unless its caller wants a list. */
const embed: Route = (response, { input, encoding_format = "float" }, { model, created }) => {
	const texts: string[] = [input].flat();
	const data = texts.map((text, index) => {
		const vector = vectorOf(text);
		const base64 = () => Buffer.from(new Float32Array(vector).buffer).toString("base64");
		return { index, object: "embedding", embedding: encoding_format === "base64" ? base64() : vector };
	});
	json(response, { id: "embd-1", object: "list", created, model, data, usage: usageOf(texts.join(""), 0) });
};

/** The text says which file arrived. */
const transcribe: Route = async (response, { file, response_format }) => {
	const bytes = Buffer.from(await file.arrayBuffer()).toString("hex");
	const text = `${file.name} (${file.type}): ${bytes}`;
	if (response_format === "text")
		return response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(text);
	json(response, { text, usage: { type: "duration", seconds: 1 } });
};

const speak: Route = (response, { input, voice, response_format: format = "mp3" }) => {
	response.writeHead(200, { "content-type": SPEECH_TYPES[format]! });
	response.end(Buffer.from(`\xff\xfb\0${voice}: ${input}`, "latin1"));
};

const draw: Route = (response, { prompt, n = 1, size = "1024x1024" }, { created }) => {
	const picture = (at: number) => Buffer.from(`\x89PNG ${at} ${size} ${prompt}`, "latin1").toString("base64");
	json(response, { created, data: Array.from({ length: n }, (_, at) => ({ b64_json: picture(at) })) });
};

const models: Route = (response, _, { model: id, created }) => {
	const one = { id, object: "model", created, owned_by: "vllm", root: id, parent: null, permission: [] };
	json(response, { object: "list", data: [{ ...one, max_model_len: 4096 }] });
};

const ROUTES: Readonly<Record<string, Route>> = {
	"GET /health": (response) => response.end(),
	"GET /v1/models": models,
	"POST /v1/chat/completions": chat,
	"POST /v1/completions": complete,
	"POST /v1/embeddings": embed,
	"POST /v1/audio/transcriptions": transcribe,
	"POST /v1/audio/speech": speak,
	"POST /v1/images/generations": draw,
};

async function bodyOf({ body, headers }: Received): Promise<any> {
	const type = headers["content-type"] ?? "";
	if (!type.startsWith("multipart/form-data")) return body.length > 0 ? JSON.parse(body.toString()) : {};
	const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
	return Object.fromEntries(form);
}

/** `created`: of all answers, s. */
export async function startOpenAi({ model = "tiny", created = 0 } = {}): Promise<OpenAiServer> {
	const streams = tokenStreams();

	async function answer(request: Received, response: ServerResponse): Promise<unknown> {
		const route = ROUTES[`${request.method} ${request.url.split("?")[0]}`];
		if (!route) return json(response, failure(404, "Not Found", "Not Found"), 404);
		const body = await bodyOf(request);
		if (request.method === "GET" || (body.model ?? model) === model)
			return route(response, body, { model, created, streams });
		const message = `The model \`${body.model}\` does not exist.`;
		return json(response, failure(404, "NotFoundError", message, "model"), 404);
	}

	const { port, received, close } = await httpServer((request, response) => void answer(request, response));
	return { port, received, streams: streams.open, close };
}
