/** Speech to text, and text to speech. Audio of an input is base64, a `data:` URL, or a public https address. */
import type { Preset } from "./preset.ts";

export const SPEECH_PRESETS: Readonly<Record<string, Preset>> = {
	"whisper-asr": {
		title: "whisper-asr-webservice: transcribes the input's audio",
		settings: {
			port: 9000,
			// No route answers while it transcribes, and the port opens when the model is loaded.
			ready: { tcp: true },
			request: {
				path: "/asr",
				urls: "public",
				query: {
					output: "json",
					task: "{input.task}",
					language: "{input.language}",
					initial_prompt: "{input.initial_prompt}",
					word_timestamps: "{input.word_timestamps}",
					vad_filter: "{input.vad_filter}",
				},
				files: [{ field: "audio_file", from: "{input.audio}" }],
			},
			// Labelled as text/plain.
			answer: { as: "json" },
		},
	},
	speaches: {
		title: "speaches (faster-whisper-server): transcribes the input's audio with its model",
		settings: {
			port: 8000,
			ready: { path: "/health" },
			request: {
				path: "/v1/audio/transcriptions",
				urls: "public",
				form: {
					model: "{input.model}",
					language: "{input.language}",
					prompt: "{input.prompt}",
					response_format: "{input.response_format}",
					temperature: "{input.temperature}",
				},
				files: [{ field: "file", from: "{input.audio}" }],
			},
			openai: {
				routes: [
					"GET /v1/models",
					"GET /v1/models/*",
					"POST /v1/audio/speech",
					"POST /v1/audio/transcriptions",
					"POST /v1/audio/translations",
				],
			},
		},
	},
	speech: {
		title: "Kokoro-FastAPI, or speaches with port 8000: speaks the input's text, as for OpenAI's audio/speech",
		settings: {
			port: 8880,
			ready: { path: "/health" },
			// Kokoro streams unless it is asked not to, and an error then cuts its answer.
			request: { path: "/v1/audio/speech", defaults: { stream: false } },
			answer: { as: "binary" },
			stream: { as: "binary", output: "text" },
			openai: { routes: ["GET /v1/models", "POST /v1/audio/speech"] },
		},
	},
};
