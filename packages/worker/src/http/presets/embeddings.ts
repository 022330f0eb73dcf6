/** Embeddings and rankings. A ranking has a query. */
import { MANY, type Preset } from "./preset.ts";

export const EMBEDDING_PRESETS: Readonly<Record<string, Preset>> = {
	tei: {
		title: "Text Embeddings Inference, in its image",
		settings: {
			port: 80,
			ready: { path: "/health" },
			request: { path: "/embed", paths: { query: "/rerank", input: "/v1/embeddings" } },
			openai: { routes: ["POST /v1/embeddings"] },
			concurrency: MANY,
		},
	},
	infinity: {
		title: "Infinity without url_prefix",
		settings: {
			port: 7997,
			ready: { path: "/health" },
			request: { path: "/embeddings", paths: { query: "/rerank" } },
			openai: { routes: ["GET /v1/models", "POST /v1/embeddings", "POST /v1/rerank"], base: "" },
			concurrency: MANY,
		},
	},
};
