/** Examples of background responses, and of videos. */
import type { Example } from "./job-examples.ts";
import { VIDEO_EXAMPLES } from "./video-examples.ts";

const RESPONSE_ID = "resp_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77";
const RESPONSE = {
	id: RESPONSE_ID,
	object: "response",
	created_at: 1769860800,
	status: "queued",
	background: true,
	completed_at: null,
	error: null,
	incomplete_details: null,
	output: [],
	store: true,
	usage: null,
	instructions: null,
	model: "harbour-1",
};
const TEXT = "A small harbour, with boats.";
const ITEM = {
	id: "msg_019b2f6e7c1a7d259a415f0f6a1c2e770000",
	type: "message",
	role: "user",
	content: [{ type: "input_text", text: "Describe the harbour" }],
};

export const RESPONSE_EXAMPLES = {
	...VIDEO_EXAMPLES,
	getResponse: {
		answer: {
			...RESPONSE,
			status: "completed",
			output: [
				{
					id: "msg_1",
					type: "message",
					role: "assistant",
					status: "completed",
					content: [{ type: "output_text", text: TEXT, annotations: [] }],
				},
			],
		},
	},
	cancelResponse: { answer: { ...RESPONSE, status: "cancelled", completed_at: 1769860860 } },
	deleteResponse: { answer: { id: RESPONSE_ID, object: "response", deleted: true } },
	listInputItems: {
		answer: { object: "list", data: [ITEM], first_id: ITEM.id, last_id: ITEM.id, has_more: false },
	},
} satisfies Readonly<Record<string, Example>>;
