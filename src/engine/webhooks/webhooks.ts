/** Webhooks: their delivery, and what operators do with deliveries (spec 6, D21). */
import { ApiError } from "../../core/errors.ts";
import type { Service } from "../../service.ts";
import type { DeliveryRow, WebhookStore } from "../../store/contract/webhooks.ts";
import { invalidCursor } from "../invalid-cursor.ts";
import { webhookDeliverer } from "./deliver.ts";
import type { DelivererDeps } from "./deliver.ts";

export interface Webhooks {
	/** Deliveries, the last created first. Throws `bad_query` for an invalid cursor. */
	list: WebhookStore["list"];
	/** Throws `delivery_not_found`. */
	get(id: string): Promise<DeliveryRow>;
	/**
	 * Sends a finished delivery again, as if its job had just ended. Throws `delivery_not_found` and
	 * `delivery_pending`.
	 */
	redeliver(id: string): Promise<void>;
	/** A delivery is due. */
	nudge(): void;
	services: readonly Service[];
}

export function createWebhooks(d: DelivererDeps): Webhooks {
	const { webhooks } = d.store;
	const deliverer = webhookDeliverer(d);
	for (const event of [
		"lease.taken",
		"server.joined",
		"server.left",
		"store.back",
		"hints.lost",
	] as const)
		d.events.on(event, deliverer.nudge);
	return {
		list: (q) =>
			webhooks.list(q).catch((error: unknown) => {
				throw invalidCursor(error, q.cursor);
			}),
		async get(id) {
			const found = await webhooks.find({ id });
			if (!found) throw new ApiError("delivery_not_found", { delivery: id });
			return found;
		},
		async redeliver(id) {
			const outcome = await webhooks.redeliver({ id, now: d.now() });
			if (outcome === "missing") throw new ApiError("delivery_not_found", { delivery: id });
			if (outcome === "pending") throw new ApiError("delivery_pending", { delivery: id });
		},
		nudge: deliverer.nudge,
		services: [deliverer],
	};
}
