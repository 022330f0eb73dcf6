/** Webhooks: their delivery, and what operators do with deliveries (spec 6, D21). */
import { ApiError } from "../../core/errors.ts";
import type { Service } from "../../service.ts";
import type { SizedDelivery, WebhookStore } from "../../store/contract/webhooks.ts";
import { invalidCursor } from "../invalid-cursor.ts";
import { type DelivererDeps, webhookDeliverer } from "./deliver.ts";

/** A count costs the store by what it counts. */
const MAX_COUNTED = 10_000;

interface DeliveryTotals {
	delivered: number;
	failed: number;
}

export interface Webhooks {
	/** Deliveries, the last created first. Throws `bad_query` for an invalid cursor. */
	list: WebhookStore["list"];
	/** Throws `delivery_not_found`. */
	get(id: string): Promise<SizedDelivery>;
	/** What each attempt of a delivery sends. */
	body: WebhookStore["body"];
	/**
	 * Sends a finished delivery again, as if its job had just ended. Throws `delivery_not_found` and
	 * `delivery_pending`.
	 */
	redeliver(id: string): Promise<void>;
	/** Receivers whose last attempt failed, failing longest first. */
	receivers: WebhookStore["receivers"];
	/** Calls a paused or disabled receiver again. Throws `receiver_not_found`. */
	enable(q: { endpoint: string; receiver: string }): Promise<void>;
	/** Pending deliveries of each endpoint that has some, at most {@link MAX_COUNTED} of each. */
	pending(): Promise<ReadonlyMap<string, number>>;
	/** Deliveries that this server finished since its start, by endpoint. */
	readonly totals: ReadonlyMap<string, DeliveryTotals>;
	/** A delivery is due. */
	nudge(): void;
	services: readonly Service[];
}

export function createWebhooks(d: DelivererDeps): Webhooks {
	const { webhooks } = d.store;
	const deliverer = webhookDeliverer(d);
	for (const event of ["lease.taken", "server.joined", "server.left", "store.back", "hints.lost"] as const)
		d.events.on(event, deliverer.nudge);
	const totals = new Map<string, DeliveryTotals>();
	const count = (endpoint: string, state: keyof DeliveryTotals): void => {
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
		list: (q) =>
			webhooks.list(q).catch((error: unknown) => {
				throw invalidCursor(error, q.cursor);
			}),
		async get(id) {
			const found = await webhooks.find({ id });
			if (!found) throw new ApiError("delivery_not_found", { delivery: id });
			return found;
		},
		body: webhooks.body,
		async redeliver(id) {
			const outcome = await webhooks.redeliver({ id, now: d.now() });
			if (outcome === "missing") throw new ApiError("delivery_not_found", { delivery: id });
			if (outcome === "pending") throw new ApiError("delivery_pending", { delivery: id });
		},
		receivers: webhooks.receivers,
		async enable({ endpoint, receiver }) {
			if (!(await webhooks.enable({ endpoint, receiver, now: d.now() })))
				throw new ApiError("receiver_not_found", { endpoint, receiver });
		},
		async pending() {
			const counts = await webhooks.pending({ atMost: MAX_COUNTED });
			return new Map(counts.map(({ endpoint, count: number }) => [endpoint, number]));
		},
		totals,
		nudge: deliverer.nudge,
		services: [deliverer],
	};
}
