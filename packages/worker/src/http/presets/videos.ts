import type { Preset } from "./preset.ts";

export const VIDEO_PRESETS: Readonly<Record<string, Preset>> = {
	"vllm-omni": {
		title: "vLLM-Omni: videos of the input's prompt, also by OpenAI's /videos",
		settings: {
			port: 8000,
			ready: { path: "/health" },
			// It takes forms only, in which objects such as lora and extra_params are texts with JSON.
			request: {
				path: "/v1/videos",
				urls: "public",
				form: "{input}",
				files: [{ field: "input_reference", from: "{input.input_reference.image_url}", required: false }],
			},
			openai: { routes: ["GET /v1/models", "GET /v1/models/*"], mapped: ["POST /v1/videos"] },
			async: {
				path: "/v1/videos/{submit.id}",
				done: ["completed"],
				failed: ["failed"],
				// Of a video that has failed the poll does too.
				fails: [500],
				result: { path: "/v1/videos/{submit.id}/content" },
			},
			failed: [{ at: "/status", in: ["failed"], message: "/error/message" }],
			progress: { from: "poll", percent: "/progress" },
			answer: { as: "binary", store: "video.mp4" },
			cancel: { method: "DELETE", path: "/v1/videos/{submit.id}" },
		},
	},
};
