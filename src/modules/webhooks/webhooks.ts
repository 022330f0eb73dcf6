/** Delivery of webhooks, and what operators do with deliveries (spec 6, D21). */
import { ApiError, invalidCursor } from "../../kernel/core/errors.ts";
import type { SizedDelivery } from "../../kernel/store/contract/webhooks.ts";
import type { WebhooksContext } from "./attempt.ts";
import { webhookDeliverer } from "./deliver.ts";
import { ERRORS } from "./errors.ts";

export type Webhooks = ReturnType<typeof createWebhooks>;

export function createWebhooks(d: WebhooksContext) {
	const { webhooks } = d.store;
	const deliverer = webhookDeliverer(d);
	d.events.on(["lease.taken", "server.joined", "server.left", "store.back", "signals.lost"], deliverer.nudge);
	d.store.onSignal(({ kind }) => {
		if (kind === "delivery") deliverer.nudge();
	});
	return {
		/** Lists deliveries, the last created first. Throws `bad_query` for an invalid cursor. */
		list: (q: Parameters<typeof webhooks.list>[0]) =>
			webhooks.list(q).catch((error: unknown) => {
				throw invalidCursor(error, q.cursor);
			}),
		async get(id: string): Promise<SizedDelivery> {
			const found = await webhooks.find({ id });
			if (!found) throw new ApiError(ERRORS.delivery_not_found, { delivery: id });
			return found;
		},
		body: webhooks.body,
		/**
		 * Sends a finished delivery again, as if its job had just ended. Throws `delivery_not_found`, `delivery_pending`.
		 */
		async redeliver(id: string): Promise<void> {
			const outcome = await webhooks.redeliver({ id, now: d.now() });
			if (outcome === "missing") throw new ApiError(ERRORS.delivery_not_found, { delivery: id });
			if (outcome === "pending") throw new ApiError(ERRORS.delivery_pending, { delivery: id });
		},
		services: [deliverer],
	};
}
