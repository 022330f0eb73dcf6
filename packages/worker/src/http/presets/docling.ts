import type { Preset } from "./preset.ts";

/**
 * docling-serve, version 1. The synchronous form ends after 120 s while its task runs on, so the asynchronous one is
 * used. A result can be read once, and its failure is a 200.
 */
export const DOCLING: Preset = {
	title: "docling-serve: documents to Markdown and JSON; the input has sources and options",
	settings: {
		port: 5001,
		ready: { path: "/ready" },
		request: { path: "/v1/convert/source/async" },
		async: {
			path: "/v1/status/poll/{submit.task_id}?wait=5",
			everyMs: 200,
			state: "/task_status",
			done: ["success", "partial_success"],
			failed: ["failure"],
			result: { path: "/v1/result/{submit.task_id}" },
		},
		failed: [{ at: "/status", in: ["failure"], message: "/errors" }],
		concurrency: 2,
	},
};
