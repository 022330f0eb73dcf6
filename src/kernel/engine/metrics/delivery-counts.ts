/** Webhook deliveries for `/metrics` and alerts (D40, D53): those that wait, and what this server finished. */
import type { EngineContext } from "../context.ts";

/** A count costs the store as much as it counts. */
const MAX_COUNTED = 10_000;

export function deliveryCounts({ events, store }: Pick<EngineContext, "events" | "store">) {
	const totals = new Map<string, { delivered: number; failed: number }>();
	const count = (endpoint: string, state: "delivered" | "failed"): void => {
		const counted = totals.get(endpoint) ?? { delivered: 0, failed: 0 };
		counted[state] += 1;
		totals.set(endpoint, counted);
	};
	events.on("webhook.delivered", ({ endpoint }) => count(endpoint, "delivered"));
	events.on("webhook.failed", ({ endpoint, retryMs }) => {
		if (retryMs === undefined) count(endpoint, "failed");
	});
	events.on("endpoint.deleted", ({ endpoint }) => totals.delete(endpoint));
	return {
		/** Deliveries that wait, of all servers. */
		pending: () => store.webhooks.pending({ atMost: MAX_COUNTED }),
		/** Finished by this server since its start, by endpoint. */
		totals: totals as ReadonlyMap<string, { delivered: number; failed: number }>,
	};
}
