/** Delivery of webhooks, and what operators do with deliveries (spec 6, D21). */
import { ApiError } from "../../core/errors.ts";
import type { SizedDelivery } from "../../store/contract/webhooks.ts";
import { invalidCursor } from "../invalid-cursor.ts";
import type { WebhooksContext } from "./attempt.ts";
import { webhookDeliverer } from "./deliver.ts";

/** A count costs the store as much as it counts. */
const MAX_COUNTED = 10_000;

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks(d: WebhooksContext) {
	const { webhooks } = d.store;
	const deliverer = webhookDeliverer(d);
	d.events.on(["lease.taken", "server.joined", "server.left", "store.back", "hints.lost"], deliverer.nudge);
	const totals = new Map<string, { delivered: number; failed: number }>();
	const count = (endpoint: string, state: "delivered" | "failed"): void => {
		const counted = totals.get(endpoint) ?? { delivered: 0, failed: 0 };
		counted[state] += 1;
		totals.set(endpoint, counted);
	};
	d.events.on("webhook.delivered", ({ endpoint }) => count(endpoint, "delivered"));
	d.events.on("webhook.failed", ({ endpoint, retryMs }) => {
		if (retryMs === undefined) count(endpoint, "failed");
	});
	d.events.on("endpoint.deleted", ({ endpoint }) => totals.delete(endpoint));
	return {
		/** The last created first. Throws `bad_query` for an invalid cursor. */
		list: (q: Parameters<typeof webhooks.list>[0]) =>
			webhooks.list(q).catch((error: unknown) => {
				throw invalidCursor(error, q.cursor);
			}),
		async get(id: string): Promise<SizedDelivery> {
			const found = await webhooks.find({ id });
			if (!found) throw new ApiError("delivery_not_found", { delivery: id });
			return found;
		},
		body: webhooks.body,
		/** Handles a finished delivery as if its job had just ended. Throws `delivery_not_found`, `delivery_pending`. */
		async redeliver(id: string): Promise<void> {
			const outcome = await webhooks.redeliver({ id, now: d.now() });
			if (outcome === "missing") throw new ApiError("delivery_not_found", { delivery: id });
			if (outcome === "pending") throw new ApiError("delivery_pending", { delivery: id });
		},
		pending: () => webhooks.pending({ atMost: MAX_COUNTED }),
		/** Finished by this server since its start, by endpoint. */
		totals: totals as ReadonlyMap<string, { delivered: number; failed: number }>,
		nudge: deliverer.nudge,
		services: [deliverer],
	};
}
