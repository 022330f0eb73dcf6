/** `/v1/webhooks`: deliveries and redelivery (D21, D39). */
import { CURSOR, LIMIT } from "../../api/definition/params.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import {
	type Delivery,
	ENDPOINT_FILTER,
	type GET_DELIVERY,
	JOB_FILTER,
	type LIST_DELIVERIES,
	type REDELIVER,
	SHOWN_BODY,
	STATE_FILTER,
} from "../../api/webhooks.ts";
import { badQuery } from "../../core/errors.ts";
import { cut, stringOf } from "../../lib/json/json-text.ts";
import { may } from "../../engine/access/keys.ts";
import type { DeliveryRow } from "../../store/contract/webhooks.ts";
import { permit, principalOf } from "../gates/auth.ts";
import type { Call } from "../exchange/call.ts";
import { hold } from "../memory/call-memory.ts";
import { valueOf } from "../exchange/params.ts";
import { readNothing } from "../exchange/object-body.ts";
import { isoJobTime, shownUrl } from "../exchange/format.ts";

export async function list(call: Call): Promise<AnswerOf<typeof LIST_DELIVERIES>> {
	const filter = { job: valueOf(call, JOB_FILTER), state: valueOf(call, STATE_FILTER) };
	const page = { cursor: valueOf(call, CURSOR), limit: valueOf(call, LIMIT) };
	const { deliveries, next } = await call.engine.webhooks.list({
		endpoint: endpointOf(call),
		...filter,
		...page,
	});
	return { deliveries: deliveries.map((row) => deliveryJson(call, row)), next: next ?? null };
}

/** A key for several endpoints must name one, which keeps pages full. */
function endpointOf(call: Call): string | undefined {
	const principal = principalOf(call);
	const requested = valueOf(call, ENDPOINT_FILTER);
	if (requested !== undefined) permit(principal, "read", requested);
	if (requested !== undefined || !principal.endpoints) return requested;
	const [only, ...others] = principal.endpoints;
	if (others.length > 0)
		throw badQuery("endpoint", "", `one of ${principal.endpoints.join(", ")}: the API key is valid for these only`);
	return only;
}

/** Includes the body, which the scope `read` also allows through the job. */
export async function get(call: Call<"delivery">): Promise<AnswerOf<typeof GET_DELIVERY>> {
	const { engine, params } = call;
	const row = await engine.webhooks.get(params.delivery);
	permit(principalOf(call), "read", row.endpoint);
	// The body is read whole, though only its beginning is shown.
	await hold(call, row.bytes);
	const body = (await engine.webhooks.body({ id: row.id })) ?? "";
	// A UTF-16 unit has at most 3 bytes in UTF-8.
	const shown = typeof body === "string" ? body : stringOf(cut(body, 0, SHOWN_BODY * 3));
	return {
		...deliveryJson(call, row),
		body: shown.slice(0, SHOWN_BODY),
		bodySize: row.bytes,
	};
}

export async function redeliver(call: Call<"delivery">): Promise<AnswerOf<typeof REDELIVER>> {
	await readNothing(call);
	const { engine, params } = call;
	const { endpoint } = await engine.webhooks.get(params.delivery);
	permit(principalOf(call), "write", endpoint);
	await engine.webhooks.redeliver(params.delivery);
	return deliveryJson(call, await engine.webhooks.get(params.delivery));
}

/**
 * The full URL is for callers that may submit jobs with one. Answers are for administrators, because with private
 * networks allowed a client could read services there.
 */
function deliveryJson(call: Call, row: DeliveryRow): Sendable<Delivery> {
	const { id, endpoint, job, url, state, tries, createdAt, dueAt } = row;
	const principal = principalOf(call);
	const [full, admin] = [may(principal, "write", endpoint), may(principal, "admin")];
	return {
		id,
		endpoint,
		job,
		state,
		url: shownUrl(url, full),
		createdAt: isoJobTime(call.engine, createdAt),
		dueAt: isoJobTime(call.engine, dueAt),
		tries: tries.map(({ at, answer, ...rest }) => ({
			at: isoJobTime(call.engine, at),
			...rest,
			answer: admin ? answer : undefined,
		})),
	};
}
