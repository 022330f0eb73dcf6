/** OpenAI's `/responses/{id}` (D58), before `/openai/*`. Ids that are not ours are the worker's. */
import { flag, text, whole, word } from "../../../kernel/api/definition/params.ts";
import { MB, NO_BODY, route, type RouteDefinition } from "../../../kernel/api/definition/route.ts";
import { FLAG, list, object, TEXT } from "../../../kernel/api/definition/schema.ts";
import { OPENAI_ERRORS } from "../error-form.ts";
import { ERRORS } from "../errors.ts";

export const STATUSES = ["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];

const TEXT_OR_NULL = { type: ["string", "null"] } as const;

export const RESPONSE = {
	type: "object",
	required: ["id", "object", "created_at", "status", "background"],
	properties: {
		id: { ...TEXT, description: "resp_ and the id of the job." },
		object: { enum: ["response"] },
		created_at: { type: "integer", minimum: 0, "x-unit": "seconds since 1970" },
		status: { enum: STATUSES },
		background: { enum: [true] },
		store: FLAG,
		output: { type: "array", items: {} },
		error: {
			oneOf: [object({ code: TEXT, message: TEXT }), { type: "null" }],
			description: "Why it failed; else null.",
		},
	},
	additionalProperties: true,
} as const;

const DELETED = object({ id: TEXT, object: { enum: ["response"] }, deleted: { enum: [true] } });

const ITEMS = object({
	object: { enum: ["list"] },
	data: list({ type: "object", properties: { id: TEXT }, required: ["id"], additionalProperties: true }),
	first_id: { ...TEXT_OR_NULL, description: "null without items." },
	last_id: { ...TEXT_OR_NULL, description: "For `after` of the next page." },
	has_more: FLAG,
});

export const STREAM = flag("stream", "Answer with server-sent events: those that exist, then those that come.");
export const STARTING_AFTER = whole("starting_after", {
	minimum: 0,
	maximum: Number.MAX_SAFE_INTEGER,
	description: "Only events with a higher sequence_number. With stream.",
});

/** An id of an item that this does not take is replaced. */
export const AFTER = text("after", 200, "Id of the last item of the page before.");
export const ORDER = word("order", ["asc", "desc"], "As in the request, or the last item first (default).");
export const LIMIT = whole("limit", {
	minimum: 1,
	maximum: 100,
	default: 20,
	description: "Maximum number of items on this page.",
});

const RESPONSES = "/v2/:endpoint/openai/v1/responses";

/** What these routes share with `/openai/*`: a request with an id of a worker is passed on to it. */
const SHARED = {
	ownLimits: true,
	errorForm: OPENAI_ERRORS,
	limit: "openai",
	errors: [ERRORS.response_not_found, "not_ready"],
} as const satisfies Partial<RouteDefinition>;

const GET_RESPONSE = route("getResponse", `GET ${RESPONSES}/:response`, "read", {
	...SHARED,
	summary: "A background response, or its events.",
	answer: {
		description: "The response: that of the worker once it has one, with the id of this service.",
		schema: RESPONSE,
		events: "with `stream`, the events of the response in OpenAI's form",
	},
	query: [STREAM, STARTING_AFTER],
	changesByGet: true,
});

const CANCEL_RESPONSE = route("cancelResponse", `POST ${RESPONSES}/:response/cancel`, "write", {
	...SHARED,
	summary: "Cancels a background response. One that has ended stays as it is.",
	answer: { description: "The response.", schema: RESPONSE },
	body: NO_BODY,
});

const DELETE_RESPONSE = route("deleteResponse", `DELETE ${RESPONSES}/:response`, "write", {
	...SHARED,
	summary: "Deletes a background response; one that has not ended is cancelled.",
	answer: { description: "It is deleted.", schema: DELETED },
});

const LIST_INPUT_ITEMS = route("listInputItems", `GET ${RESPONSES}/:response/input_items`, "read", {
	...SHARED,
	summary: "The items of the input of a background response.",
	answer: { description: "A page of items.", schema: ITEMS },
	query: [AFTER, LIMIT, ORDER],
	changesByGet: true,
});

/** Such as `POST /v1/responses/compact`, which `/openai/*` describes. */
const POST_BELOW = route("postBelowResponses", `POST ${RESPONSES}/:response`, "write", {
	...SHARED,
	summary: "Runs a request of OpenAI's API as a job.",
	answer: { description: "The result.", schema: {} },
	body: { description: "A request of OpenAI's API.", schema: { type: "object", additionalProperties: true } },
	maxBody: 20 * MB,
	page: true,
});

export const BACKGROUND_ROUTES = [
	GET_RESPONSE,
	CANCEL_RESPONSE,
	DELETE_RESPONSE,
	LIST_INPUT_ITEMS,
	POST_BELOW,
] as const;
