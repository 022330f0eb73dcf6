/**
 * A server with Ollama's API (server/routes.go) and its part of OpenAI's (openai/openai.go). Its models are loaded by a
 * request, and unloaded by one with `keep_alive: 0`; `/api/ps` has those that are loaded.
 */
import type { ServerResponse } from "node:http";
import { httpServer, json, type Received } from "../../support/worker-kit/http-servers.ts";
import { FAILURE, lastText, tokensOf, type TokenStreams, tokenStreams, vectorOf } from "./model.ts";

export interface OllamaServer {
	port: number;
	/** The requests, in the order of their ends. */
	readonly received: readonly Received[];
	/** Streams that have not ended. */
	streams(): number;
	close(): Promise<void>;
}

interface Answers {
	/** Of all answers, an ISO date. */
	time: string;
	streams: TokenStreams;
}

/** Times are in ns. */
const counts = (prompt: string) => ({
	...{ total_duration: 3000, load_duration: 1000, prompt_eval_count: prompt.length, prompt_eval_duration: 1000 },
	...{ eval_count: tokensOf(prompt).length, eval_duration: 1000 },
});

/** Answers `/api/chat` and `/api/generate`. `said` is the member with a text, whose form differs. */
function say(
	response: ServerResponse,
	{ model, keep_alive, stream = true }: { model: string; keep_alive?: number; stream?: boolean },
	{ message, said, time, streams }: Answers & { message: string; said: (text: string) => object },
): void {
	const shape = { model, created_at: time };
	// Without a text a request loads or unloads a model, and is no stream.
	if (message === "")
		return json(response, { ...shape, ...said(""), done: true, done_reason: keep_alive === 0 ? "unload" : "load" });
	const end = { done: true, done_reason: "stop", ...counts(message) };
	if (!stream) return json(response, { ...shape, ...said(tokensOf(message).join("")), ...end });
	const line = (value: object): string => `${JSON.stringify(value)}\n`;
	response.writeHead(200, { "content-type": "application/x-ndjson" });
	streams.write(response, {
		message,
		token: (text) => line({ ...shape, ...said(text), done: false }),
		failure: line({ error: FAILURE }),
		end: line({ ...shape, ...said(""), ...end }),
	});
}

/** Answers `/v1/chat/completions`. */
function complete(
	response: ServerResponse,
	{ model, messages, stream = false, stream_options }: any,
	{ time, streams }: Answers,
): void {
	const message = lastText(messages);
	const shape = { id: "chatcmpl-1", created: Date.parse(time) / 1000, model, system_fingerprint: "fp_ollama" };
	const { prompt_eval_count: prompt_tokens, eval_count: completion_tokens } = counts(message);
	const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
	if (!stream) {
		const said = { role: "assistant", content: tokensOf(message).join("") };
		const choices = [{ index: 0, message: said, finish_reason: "stop" }];
		return json(response, { ...shape, object: "chat.completion", choices, usage });
	}
	const sse = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
	const chunk = (choices: object[], more: object = {}): string =>
		sse({ ...shape, object: "chat.completion.chunk", choices, ...more });
	const choice = (content: string, finish_reason: string | null): object => ({
		...{ index: 0, delta: { role: "assistant", content }, finish_reason },
	});
	const count = stream_options?.include_usage === true ? chunk([], { usage }) : "";
	response.writeHead(200, { "content-type": "text/event-stream" });
	streams.write(response, {
		message,
		token: (text) => chunk([choice(text, null)]),
		failure: sse(openAiFailure(500, FAILURE)),
		end: `${chunk([choice("", "stop")])}${count}data: [DONE]\n\n`,
	});
}

function openAiFailure(status: number, message: string): object {
	const type = status === 404 ? "not_found_error" : "api_error";
	return { error: { message, type, param: null, code: null } };
}

const about = (name: string) => ({
	...{ name, model: name, size: 2_019_393_189, digest: "a80c4f17acd5" },
	details: {
		...{ parent_model: "", format: "gguf", family: "llama", families: ["llama"] },
		...{ parameter_size: "3.2B", quantization_level: "Q4_K_M" },
	},
});

/** `models`: with their tags. `time`: of all answers, an ISO date. */
export async function startOllama({
	models = ["tiny:latest"],
	time = "2026-01-01T00:00:00Z",
}: {
	models?: readonly string[];
	time?: string;
} = {}): Promise<OllamaServer> {
	const streams = tokenStreams();
	const loaded = new Set<string>();

	function answer({ method, url, body }: Received, response: ServerResponse): unknown {
		const { pathname } = new URL(url, "http://server");
		const given: any = body.length > 0 ? JSON.parse(body.toString()) : {};
		if (method === "POST") {
			const name = given.model.includes(":") ? given.model : `${given.model}:latest`;
			if (!models.includes(name)) {
				const error = `model '${given.model}' not found`;
				return json(response, pathname.startsWith("/v1/") ? openAiFailure(404, error) : { error }, 404);
			}
			if (given.keep_alive === 0) loaded.delete(name);
			else loaded.add(name);
		}
		switch (`${method} ${pathname}`) {
			case "GET /api/version":
				return json(response, { version: "0.9.1" });
			case "GET /api/tags":
				return json(response, { models: models.map((name) => ({ ...about(name), modified_at: time })) });
			case "GET /api/ps": {
				const memory = { expires_at: time, size_vram: 3_000_000_000, context_length: 4096 };
				return json(response, { models: [...loaded].map((name) => ({ ...about(name), ...memory })) });
			}
			case "POST /api/chat": {
				const said = (content: string) => ({ message: { role: "assistant", content } });
				return say(response, given, { message: lastText(given.messages), said, time, streams });
			}
			case "POST /api/generate": {
				const said = (text: string) => ({ response: text });
				return say(response, given, { message: given.prompt ?? "", said, time, streams });
			}
			case "POST /api/embed": {
				const texts: string[] = [given.input].flat();
				const { total_duration, load_duration } = counts("");
				const shape = { model: given.model, embeddings: texts.map(vectorOf) };
				return json(response, { ...shape, total_duration, load_duration, prompt_eval_count: texts.join("").length });
			}
			case "GET /v1/models": {
				const one = { object: "model", created: Date.parse(time) / 1000, owned_by: "library" };
				return json(response, { object: "list", data: models.map((id) => ({ id, ...one })) });
			}
			case "POST /v1/chat/completions":
				return complete(response, given, { time, streams });
			default:
				return response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found");
		}
	}

	const { port, received, close } = await httpServer(answer);
	return { port, received, streams: streams.open, close };
}
