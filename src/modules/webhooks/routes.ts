/** Webhook deliveries (D21, D39). */
import { DELIVERY_STATES } from "../../kernel/core/webhooks.ts";
import { CURSOR, LIMIT, text, word } from "../../kernel/api/definition/params.ts";
import { NO_BODY, route } from "../../kernel/api/definition/route.ts";
import {
	COUNT,
	extend,
	list,
	MOMENT,
	MS,
	object,
	pageOf,
	type Static,
	TEXT,
} from "../../kernel/api/definition/schema.ts";
import { ERRORS } from "./errors.ts";

export const DELIVERY = object({
	id: TEXT,
	endpoint: TEXT,
	job: TEXT,
	state: { enum: DELIVERY_STATES, description: "pending while an attempt is due or in flight." },
	url: { ...TEXT, description: "Address of the webhook; a key with the scope read gets only scheme and host." },
	createdAt: MOMENT,
	"dueAt?": { ...MOMENT, description: "When the next attempt is due." },
	tries: list(
		object({
			at: MOMENT,
			tookMs: MS,
			"status?": { type: "integer" },
			"answer?": {
				...TEXT,
				description: "The first 256 bytes of the answer, in printable characters; only with an admin key.",
			},
			"error?": TEXT,
		}),
	),
});
export type Delivery = Static<typeof DELIVERY>;

export const ENDPOINT_FILTER = text(
	"endpoint",
	64,
	"Only deliveries of this endpoint. Required with a key that is valid for several endpoints only.",
);
export const JOB_FILTER = text("job", 100, "Only deliveries of this job.");
export const STATE_FILTER = word("state", DELIVERY_STATES, "Only deliveries in this state.");

const LIST_DELIVERIES = route("listDeliveries", "GET /v1/webhooks", "read", {
	summary: "Webhook deliveries, most recent first.",
	answer: {
		description: "A page of deliveries.",
		schema: pageOf("deliveries", DELIVERY),
	},
	query: [ENDPOINT_FILTER, JOB_FILTER, STATE_FILTER, LIMIT, CURSOR],
});

export const SHOWN_BODY = 16_384;

const DELIVERY_DETAIL = extend(DELIVERY, {
	body: {
		...TEXT,
		description: `What each attempt sends, without input and webhook: the first ${SHOWN_BODY} characters.`,
	},
	bodySize: { ...COUNT, description: "Size of all of it, bytes." },
});
export type DeliveryDetail = Static<typeof DELIVERY_DETAIL>;

const GET_DELIVERY = route("getDelivery", "GET /v1/webhooks/:delivery", "read", {
	summary: "A webhook delivery with the body that it sends.",
	answer: {
		description: "The delivery.",
		schema: DELIVERY_DETAIL,
	},
	errors: [ERRORS.delivery_not_found],
});

export const REDELIVER = route("redeliver", "POST /v1/webhooks/:delivery/redeliver", "write", {
	summary: "Sends a finished delivery again.",
	answer: {
		description: "The delivery.",
		schema: DELIVERY,
	},
	body: NO_BODY,
	errors: [ERRORS.delivery_not_found, ERRORS.delivery_pending],
});

export const WEBHOOK_ROUTES = [LIST_DELIVERIES, GET_DELIVERY, REDELIVER] as const;
