/** `/v1/webhooks`: deliveries, and sending one anew (D21, D39). */
import { DELIVERY_STATES } from "../../core/delivery.ts";
import { badQuery } from "../../core/errors.ts";
import { may } from "../../engine/access/keys.ts";
import type { DeliveryRow } from "../../store/store.ts";
import { permit, principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { CURSOR, PAGE } from "../client/client-api.ts";
import { text, valueOf, word } from "../params.ts";
import { json } from "../reply.ts";
import { readNothing } from "./body.ts";
import { moment } from "./time.ts";
import { shownUrl } from "./webhook-url.ts";

/** Filters of the list. */
export const ENDPOINT = text(
	"endpoint",
	64,
	"Only deliveries of this endpoint. Needed with a key that is good for several endpoints only.",
);
export const JOB = text("job", 100, "Only deliveries of this job.");
export const STATE = word("state", DELIVERY_STATES, "Only deliveries in this state.");

/** GET /v1/webhooks: `{deliveries, next}`, the last made first. */
export async function list(call: Call): Promise<void> {
	const [job, state, cursor, limit = 20] = [
		valueOf(call, JOB),
		valueOf(call, STATE),
		valueOf(call, CURSOR),
		valueOf(call, PAGE),
	];
	const { deliveries, next } = await call.engine.webhooks.list({
		endpoint: endpointOf(call),
		job,
		state,
		cursor,
		limit,
	});
	json(
		call.res,
		JSON.stringify({ deliveries: deliveries.map((row) => shown(call, row)), next: next ?? null }),
	);
}

/**
 * The endpoint asked for. A key with a list of endpoints sees one of them at a time, so that pages
 * stay whole.
 */
function endpointOf(call: Call): string | undefined {
	const principal = principalOf(call);
	const asked = valueOf(call, ENDPOINT);
	if (asked !== undefined) permit(principal, "read", asked);
	if (asked !== undefined || !principal.endpoints) return asked;
	const [only, ...others] = principal.endpoints;
	if (others.length > 0)
		throw badQuery(
			"endpoint",
			"",
			`one of ${principal.endpoints.join(", ")}: the API key is good for these only`,
		);
	return only;
}

/**
 * POST /v1/webhooks/{delivery}/redeliver: sends one that is over anew, as if its job had just
 * ended; the delivery.
 */
export async function redeliver(call: Call): Promise<void> {
	await readNothing(call);
	const { engine, params } = call;
	const { endpoint } = await engine.webhooks.get(params.delivery);
	permit(principalOf(call), "write", endpoint);
	await engine.webhooks.redeliver(params.delivery);
	json(call.res, JSON.stringify(shown(call, await engine.webhooks.get(params.delivery))));
}

/** The URL is shown whole to those who may submit jobs with one. */
function shown(
	call: Call,
	{ id, endpoint, job, url, state, tries, createdAt, dueAt }: DeliveryRow,
): Record<string, unknown> {
	const full = may(principalOf(call), "write", endpoint);
	return {
		id,
		endpoint,
		job,
		state,
		url: full ? url : shownUrl(url),
		createdAt: moment(createdAt),
		dueAt: moment(dueAt),
		tries: tries.map(({ at, ...rest }) => ({ at: moment(at), ...rest })),
	};
}
