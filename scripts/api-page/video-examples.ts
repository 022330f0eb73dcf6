/** Examples of videos. */
import type { Example } from "./job-examples.ts";

const VIDEO_ID = "video_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77";
const REQUEST = { model: "harbour-1", prompt: "A harbour at dawn", seconds: "4", size: "1280x720" };
const QUEUED = {
	id: VIDEO_ID,
	object: "video",
	status: "queued",
	progress: 0,
	created_at: 1769860800,
	completed_at: null,
	expires_at: null,
	...REQUEST,
	remixed_from_video_id: null,
	error: null,
};
const DONE = { ...QUEUED, status: "completed", progress: 100, completed_at: 1769860890, expires_at: 1769947290 };
const REMIX_ID = "video_019b2f6e-9d3b-7a41-8b52-6e1f7b2d3f88";
const PROMPT = "The same at night";

export const VIDEO_EXAMPLES = {
	createVideo: { body: REQUEST, answer: QUEUED },
	listVideos: { answer: { object: "list", data: [DONE], first_id: VIDEO_ID, last_id: VIDEO_ID, has_more: false } },
	getVideo: { answer: DONE },
	deleteVideo: { answer: { id: VIDEO_ID, object: "video.deleted", deleted: true } },
	remixVideo: {
		body: { prompt: PROMPT },
		answer: { ...QUEUED, id: REMIX_ID, prompt: PROMPT, remixed_from_video_id: VIDEO_ID },
	},
} satisfies Readonly<Record<string, Example>>;
