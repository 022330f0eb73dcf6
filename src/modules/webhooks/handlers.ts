/** `/v1/webhooks`: deliveries and redelivery (D21, D39). */
import { CURSOR, LIMIT } from "../../kernel/api/definition/params.ts";
import type { Sendable } from "../../kernel/api/definition/schema.ts";
import { badQuery } from "../../kernel/core/errors.ts";
import { cut, stringOf } from "../../kernel/lib/json/json-text.ts";
import { may } from "../../kernel/engine/access/keys.ts";
import type { DeliveryRow } from "../../kernel/store/contract/webhooks.ts";
import { permit, principalOf } from "../../kernel/http/gates/auth.ts";
import { type Call, valueOf } from "../../kernel/http/exchange/call.ts";
import { hold } from "../../kernel/http/memory/call-memory.ts";
import { readNothing } from "../../kernel/http/exchange/object-body.ts";
import { isoJobTime, shownUrl } from "../../kernel/http/exchange/format.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import { type Delivery, ENDPOINT_FILTER, JOB_FILTER, SHOWN_BODY, STATE_FILTER, type WEBHOOK_ROUTES } from "./routes.ts";
import type { Webhooks } from "./webhooks.ts";

export function webhookHandlers(webhooks: Webhooks): HandlersOf<typeof WEBHOOK_ROUTES> {
	return {
		async listDeliveries(call) {
			const filter = { job: valueOf(call, JOB_FILTER), state: valueOf(call, STATE_FILTER) };
			const page = { cursor: valueOf(call, CURSOR), limit: valueOf(call, LIMIT) };
			const { deliveries, next } = await webhooks.list({ endpoint: endpointOf(call), ...filter, ...page });
			return { deliveries: deliveries.map((row) => deliveryJson(call, row)), next: next ?? null };
		},
		/** Returns a delivery with its body, which a key with the scope `read` may see through the job too. */
		async getDelivery(call) {
			const row = await webhooks.get(call.params.delivery);
			permit(principalOf(call), "read", row.endpoint);
			// The body is read whole, though only its beginning is shown.
			await hold(call, row.bytes);
			const body = (await webhooks.body({ id: row.id })) ?? "";
			// A UTF-16 unit has at most 3 bytes in UTF-8.
			const shown = typeof body === "string" ? body : stringOf(cut(body, 0, SHOWN_BODY * 3));
			return { ...deliveryJson(call, row), body: shown.slice(0, SHOWN_BODY), bodySize: row.bytes };
		},
		async redeliver(call) {
			await readNothing(call);
			const id = call.params.delivery;
			const { endpoint } = await webhooks.get(id);
			permit(principalOf(call), "write", endpoint);
			await webhooks.redeliver(id);
			return deliveryJson(call, await webhooks.get(id));
		},
	};
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
