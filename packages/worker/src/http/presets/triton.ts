import type { Preset } from "./preset.ts";

/** Not ready is a 400. Errors may follow a 200 within a stream. */
export const TRITON: Preset = {
	title: "Triton Inference Server: the input has model and inputs, or text_input of a language model",
	settings: {
		port: 8000,
		ready: { path: "/v2/health/ready" },
		request: {
			path: "/v2/models/{input.model}/infer",
			paths: {
				stream: "/v2/models/{input.model}/generate_stream",
				text_input: "/v2/models/{input.model}/generate",
			},
		},
		stream: { as: "sse", error: "/error" },
		concurrency: 8,
	},
};
