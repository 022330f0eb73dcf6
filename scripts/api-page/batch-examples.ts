/** Examples of batches. */
import type { Example } from "./job-examples.ts";

const BATCH_ID = "batch_019b2f6e7c1a7d259a415f0f6a1c2e78";
const REQUEST = {
	input_file_id: "file-019b2f6e7c1a7d259a415f0f6a1c2e77",
	endpoint: "/v1/chat/completions",
	completion_window: "24h",
};
const RUNNING = {
	id: BATCH_ID,
	object: "batch",
	...REQUEST,
	errors: null,
	status: "in_progress",
	output_file_id: null,
	error_file_id: null,
	created_at: 1769860800,
	in_progress_at: 1769860802,
	expires_at: 1769947200,
	finalizing_at: null,
	completed_at: null,
	failed_at: null,
	expired_at: null,
	cancelling_at: null,
	cancelled_at: null,
	request_counts: { total: 1000, completed: 312, failed: 1 },
	usage: {
		input_tokens: 40_560,
		input_tokens_details: { cached_tokens: 0 },
		output_tokens: 65_208,
		output_tokens_details: { reasoning_tokens: 0 },
		total_tokens: 105_768,
	},
	metadata: { run: "nightly" },
};

export const BATCH_EXAMPLES = {
	createBatch: { body: { ...REQUEST, metadata: { run: "nightly" } }, answer: RUNNING },
	listBatches: {
		answer: { object: "list", data: [RUNNING], first_id: BATCH_ID, last_id: BATCH_ID, has_more: false },
	},
	getBatch: { answer: RUNNING },
	cancelBatch: { answer: { ...RUNNING, status: "cancelling", cancelling_at: 1769864400 } },
} satisfies Readonly<Record<string, Example>>;
