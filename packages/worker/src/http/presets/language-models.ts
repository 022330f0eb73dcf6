/**
 * Language models behind OpenAI's API. Besides `/openai/*`, jobs choose a route by their input: `messages` is a chat,
 * `prompt` a completion, `input` asks for embeddings.
 */
import { MANY, type Preset } from "./preset.ts";

const OPENAI_ROUTES: readonly string[] = [
	"GET /v1/models",
	"GET /v1/models/*",
	"POST /v1/chat/completions",
	"POST /v1/completions",
	"POST /v1/embeddings",
	"POST /v1/responses",
	"POST /v1/messages",
	"POST /v1/rerank",
	"POST /v1/score",
	"POST /v1/classify",
	"POST /v1/moderations",
	"POST /v1/images/generations",
	"POST /v1/images/edits",
	"POST /v1/images/variations",
	"POST /v1/audio/speech",
	"POST /v1/audio/transcriptions",
	"POST /v1/audio/translations",
];

const SETTINGS = {
	ready: { path: "/v1/models" },
	request: {
		path: "/v1/chat/completions",
		paths: { messages: "/v1/chat/completions", prompt: "/v1/completions", input: "/v1/embeddings" },
	},
	stream: { as: "sse", end: "[DONE]", error: "/error" },
	openai: { routes: OPENAI_ROUTES },
};

/** Answers slowly while it moves the weights, and older versions before they have. */
const VLLM_SLEEP = {
	sleep: {
		path: "/sleep?level=1",
		until: { path: "/is_sleeping", at: "/is_sleeping", in: [true] },
	},
	wake: {
		path: "/wake_up",
		until: { path: "/is_sleeping", at: "/is_sleeping", in: [false] },
	},
};

export const LANGUAGE_MODEL_PRESETS: Readonly<Record<string, Preset>> = {
	openai: { title: "Any server with OpenAI's API", settings: SETTINGS },
	vllm: {
		title: "vLLM; it sleeps with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1",
		settings: { ...SETTINGS, port: 8000, ready: { path: "/health" }, concurrency: MANY, ...VLLM_SLEEP },
	},
	nim: {
		title: "NVIDIA NIM for language models",
		settings: { ...SETTINGS, port: 8000, ready: { path: "/v1/health/ready" }, concurrency: MANY },
	},
	sglang: {
		title: "SGLang; it sleeps with --enable-memory-saver",
		settings: {
			...SETTINGS,
			port: 30_000,
			// /health generates a token.
			ready: { path: "/get_model_info" },
			concurrency: MANY,
			sleep: { path: "/release_memory_occupation", body: {} },
			wake: { path: "/resume_memory_occupation", body: {} },
		},
	},
	llamacpp: {
		title: "llama-server of llama.cpp; concurrency is its --parallel",
		settings: { ...SETTINGS, port: 8080, ready: { path: "/health" } },
	},
	ollama: {
		title: "Ollama, by its own API for inputs with messages, prompt or input",
		settings: {
			port: 11_434,
			ready: { path: "/api/version" },
			request: {
				path: "/api/generate",
				paths: { messages: "/api/chat", prompt: "/api/generate", input: "/api/embed" },
				// It streams unless it is asked not to.
				defaults: { stream: false },
			},
			stream: { as: "ndjson", error: "/error" },
			openai: { routes: OPENAI_ROUTES },
			// The next request loads its model again.
			sleep: {
				each: { path: "/api/ps", at: "/models" },
				path: "/api/generate",
				body: { model: "{each.name}", keep_alive: 0 },
				until: { path: "/api/ps", at: "/models", in: [[]] },
			},
		},
	},
	tgi: {
		title: "Text Generation Inference, in its image; inputs with inputs go to /generate, which does not stream",
		settings: {
			...SETTINGS,
			port: 80,
			ready: { path: "/health" },
			request: {
				path: "/generate",
				paths: { messages: "/v1/chat/completions", prompt: "/v1/completions" },
			},
			concurrency: MANY,
		},
	},
};
