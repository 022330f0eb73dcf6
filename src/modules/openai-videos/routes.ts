/** OpenAI's `/videos` (D62), before `/openai/*`. */
import { text, whole, word } from "../../kernel/api/definition/params.ts";
import { MB, route, type RouteDefinition } from "../../kernel/api/definition/route.ts";
import { FLAG, list, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";
import { OPENAI_ERRORS } from "../openai/error-form.ts";
import { ERRORS as S3_ERRORS } from "../s3/errors.ts";
import { ERRORS } from "./errors.ts";

const SECONDS = { type: "integer", minimum: 0, "x-unit": "seconds since 1970" } as const;
const SECONDS_OR_NULL = { type: ["integer", "null"], minimum: 0, "x-unit": "seconds since 1970" } as const;
const TEXT_OR_NULL = { type: ["string", "null"] } as const;

export const LONGEST_PROMPT = 32_000;

export const VIDEO = object({
	id: { ...TEXT, description: "video_ and the id of the job." },
	object: { enum: ["video"] },
	model: { ...TEXT_OR_NULL, description: "As in the request; null without." },
	status: { enum: ["queued", "in_progress", "completed", "failed"] },
	progress: { type: "integer", minimum: 0, maximum: 100, description: "0 to 99 while it runs, as the worker reports." },
	created_at: SECONDS,
	completed_at: SECONDS_OR_NULL,
	expires_at: { ...SECONDS_OR_NULL, description: "When an ended one is removed." },
	prompt: TEXT_OR_NULL,
	size: { ...TEXT_OR_NULL, description: "As in the request; null without." },
	seconds: { ...TEXT_OR_NULL, description: "As in the request; null without." },
	remixed_from_video_id: TEXT_OR_NULL,
	error: {
		oneOf: [object({ code: TEXT, message: TEXT }), { type: "null" }],
		description: "Why it failed; else null.",
	},
});
export type Video = Static<typeof VIDEO>;

const LIST = object({
	object: { enum: ["list"] },
	data: list(VIDEO),
	first_id: { ...TEXT_OR_NULL, description: "null without videos." },
	last_id: { ...TEXT_OR_NULL, description: "For `after` of the next page." },
	has_more: FLAG,
});

const DELETED = object({ id: TEXT, object: { enum: ["video.deleted"] }, deleted: { enum: [true] } });

export const AFTER = text("after", 64, "Id of the last video of the page before.");
export const LIMIT = whole("limit", {
	minimum: 0,
	maximum: 100,
	default: 20,
	description: "Maximum number of videos on this page.",
});
export const ORDER = word("order", ["desc"], "Only desc: the newest first.");
export const VARIANT = word("variant", ["video", "thumbnail", "spritesheet"], "What to download. Default: video.");

const VIDEOS = "/v2/:endpoint/openai/v1/videos";
const ONE = `${VIDEOS}/:video` as const;

const FORM = { errorForm: OPENAI_ERRORS, limit: "openai" } as const satisfies Partial<RouteDefinition>;
const UNKNOWN = ERRORS.video_not_found;

const REFUSALS = [
	...(["bad_request", "queue_full", "quota_full", "gpu_quota_used", "store_full"] as const),
	...(["not_ready", "idempotency_reused", "idempotency_expired"] as const),
] as const;

const SUBMITS = { ...FORM, ownLimits: true } as const satisfies Partial<RouteDefinition>;

const CREATE_VIDEO = route("createVideo", `POST ${VIDEOS}`, "write", {
	...SUBMITS,
	summary: "Creates a video: a job that goes on without its client.",
	answer: {
		description: "The video, which is queued.",
		schema: VIDEO,
		headers: { "openai-poll-after-ms": "When to ask again, ms.", "x-request-id": "Id of the job." },
	},
	body: {
		description:
			"JSON, or a form (multipart/form-data) of at most 15 MiB, as OpenAI's clients send it: `a[b]` is the member b " +
			"of a, and values are texts. The worker gets it as input.openai_input, with /v1/videos as input.openai_route.",
		schema: {
			type: "object",
			required: ["prompt"],
			properties: {
				prompt: { type: "string", minLength: 1, maxLength: LONGEST_PROMPT },
				model: TEXT,
				seconds: TEXT,
				size: TEXT,
				input_reference: {
					type: "object",
					properties: { image_url: TEXT, file_id: TEXT },
					description:
						"One of both, or in a form also a file. The worker gets an image_url: for files a link where the " +
						"endpoint has files: true, else a data: URL.",
				},
			},
			additionalProperties: true,
		},
	},
	maxBody: 20 * MB,
	errors: [...REFUSALS, "bad_form", "part_too_large"],
});

const REMIX_VIDEO = route("remixVideo", `POST ${ONE}/remix`, "write", {
	...SUBMITS,
	summary: "Creates a video from one that is completed, with another prompt.",
	answer: { description: "The new video, which is queued.", schema: VIDEO },
	body: {
		description: "The prompt. The worker gets the request of the source with it, and the link to the source.",
		schema: {
			type: "object",
			required: ["prompt"],
			properties: { prompt: { type: "string", minLength: 1, maxLength: LONGEST_PROMPT } },
		},
	},
	maxBody: MB,
	errors: [...REFUSALS, UNKNOWN],
});

const LIST_VIDEOS = route("listVideos", `GET ${VIDEOS}`, "read", {
	...FORM,
	summary: "The videos of the endpoint, the newest first.",
	answer: { description: "A page of videos.", schema: LIST },
	query: [AFTER, LIMIT, ORDER],
});

const GET_VIDEO = route("getVideo", `GET ${ONE}`, "read", {
	...FORM,
	ownLimits: true,
	summary: "A video, without its content. A failed one is answered with 200 too.",
	answer: {
		description: "The video.",
		schema: VIDEO,
		headers: { "openai-poll-after-ms": "When to ask again, ms." },
	},
	errors: [UNKNOWN],
});

const GET_VIDEO_CONTENT = route("getVideoContent", `GET ${ONE}/content`, "read", {
	...FORM,
	ownLimits: true,
	summary: "The bytes of a video, or the range that the header Range asks for where the service stores them.",
	answer: {
		description:
			"The bytes; 302 to the link of a worker that stores elsewhere. A link into the buckets of the endpoint is read " +
			"by the service.",
		media: "video/mp4",
	},
	query: [VARIANT],
	errors: [UNKNOWN, ERRORS.variant_not_found, S3_ERRORS.s3_range],
});

const DELETE_VIDEO = route("deleteVideo", `DELETE ${ONE}`, "write", {
	...FORM,
	ownLimits: true,
	summary: "Deletes a video with its files; one that has not ended is cancelled.",
	answer: { description: "It is deleted.", schema: DELETED },
	errors: [UNKNOWN],
});

const NOT_SUPPORTED = {
	...FORM,
	summary: "Refused: the service has no such thing.",
	answer: { description: "Never." },
	errors: [ERRORS.videos_not_supported],
	page: true,
} as const;

export const VIDEO_ROUTES = [
	CREATE_VIDEO,
	LIST_VIDEOS,
	GET_VIDEO,
	GET_VIDEO_CONTENT,
	DELETE_VIDEO,
	REMIX_VIDEO,
	route("editVideo", `POST ${VIDEOS}/edits`, "write", NOT_SUPPORTED),
	route("extendVideo", `POST ${VIDEOS}/extensions`, "write", NOT_SUPPORTED),
	route("createVideoCharacter", `POST ${VIDEOS}/characters`, "write", NOT_SUPPORTED),
	route("getVideoCharacter", `GET ${VIDEOS}/characters/:character`, "read", NOT_SUPPORTED),
] as const;
