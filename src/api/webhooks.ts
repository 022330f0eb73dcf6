/** Webhook deliveries (D21, D39). */
import { DELIVERY_STATES } from "../core/delivery.ts";
import { CURSOR, LIMIT, text, word } from "./params.ts";
import { NO_BODY, route } from "./route.ts";
import { EXAMPLE, MOMENT, MS, TEXT, list, pageOf } from "./schema.ts";
import type { Static } from "./schema.ts";

export const DELIVERY = {
	type: "object",
	required: ["id", "endpoint", "job", "state", "url", "createdAt", "tries"],
	properties: {
		id: TEXT,
		endpoint: TEXT,
		job: TEXT,
		state: {
			enum: DELIVERY_STATES,
			description: "pending while an attempt is due or in flight.",
		},
		url: { ...TEXT, description: "Only scheme and host for a key with the scope read." },
		createdAt: MOMENT,
		dueAt: { ...MOMENT, description: "When the next attempt is due." },
		tries: list({
			type: "object",
			required: ["at", "tookMs"],
			properties: { at: MOMENT, tookMs: MS, status: { type: "integer" }, error: TEXT },
		}),
	},
} as const;
export type Delivery = Static<typeof DELIVERY>;

const DELIVERY_EXAMPLE = {
	id: `msg_${EXAMPLE.job}_0`,
	endpoint: "hello",
	job: EXAMPLE.job,
	state: "delivered",
	url: "https://app.example.com/jobs",
	createdAt: EXAMPLE.at,
	tries: [{ at: EXAMPLE.at, tookMs: 35, status: 200 }],
};

export const ENDPOINT_FILTER = text(
	"endpoint",
	64,
	"Only deliveries of this endpoint. Required with a key that is valid for several endpoints only.",
);
export const JOB_FILTER = text("job", 100, "Only deliveries of this job.");
export const STATE_FILTER = word("state", DELIVERY_STATES, "Only deliveries in this state.");

export const LIST_DELIVERIES = route({
	methods: ["GET"],
	path: "/v1/webhooks",
	access: "read",
	name: "listDeliveries",
	summary: "Webhook deliveries, most recent first.",
	answer: {
		description: "A page of deliveries.",
		schema: pageOf("deliveries", DELIVERY),
		example: { deliveries: [DELIVERY_EXAMPLE], next: null },
	},
	query: [ENDPOINT_FILTER, JOB_FILTER, STATE_FILTER, LIMIT, CURSOR],
});

export const REDELIVER = route({
	methods: ["POST"],
	path: "/v1/webhooks/:delivery/redeliver",
	access: "write",
	name: "redeliver",
	summary: "Sends a finished delivery again.",
	answer: {
		description: "The delivery.",
		schema: DELIVERY,
		example: { ...DELIVERY_EXAMPLE, state: "pending", dueAt: EXAMPLE.at },
	},
	body: NO_BODY,
	errors: ["delivery_pending"],
});

export const WEBHOOK_ROUTES = [LIST_DELIVERIES, REDELIVER] as const;
