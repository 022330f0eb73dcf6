/** Webhook deliveries for `/metrics` and alerts (D40, D53): those that wait, and what this server finished. */
import type { Family, FamilyDescription, Sample } from "../../kernel/core/metrics/family.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import { counts } from "../../kernel/engine/metrics/labelled.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";

/** A count costs the store as much as it counts. */
const MAX_COUNTED = 10_000;

const STATES = ["delivered", "failed"] as const;

const PENDING: FamilyDescription = {
	name: "sluice_webhooks_pending",
	type: "gauge",
	labels: ["endpoint"],
	help: "Webhook deliveries that are due later or in flight, on all servers; at most 10,000 are counted.",
};

const OVERDUE: FamilyDescription = {
	name: "sluice_webhooks_overdue_seconds",
	type: "gauge",
	labels: ["endpoint"],
	help: "Time since the longest due webhook delivery was due, on all servers; 0 if all are due later or in flight.",
};

const FINISHED: FamilyDescription = {
	name: "sluice_webhooks_total",
	type: "counter",
	labels: ["endpoint", "state"],
	help: "Webhook deliveries finished by this server.",
};

export const FAMILIES = [PENDING, OVERDUE, FINISHED];

/** Counts from now on. Those that wait are missing while the store is unavailable. */
export function webhookFamilies({ events, store, now }: Pick<EngineContext, "events" | "store" | "now">) {
	const finished = counts(events);
	const count = (endpoint: string, ended: (typeof STATES)[number]): void => {
		// Rates need both series from the first end on.
		for (const state of STATES) finished.add(Number(state === ended), endpoint, state);
	};
	events.on("webhook.delivered", ({ endpoint }) => count(endpoint, "delivered"));
	events.on("webhook.failed", ({ endpoint, retryMs }) => {
		if (retryMs === undefined) count(endpoint, "failed");
	});

	return async (): Promise<Family[]> => {
		const pending = await store.webhooks.pending({ atMost: MAX_COUNTED }).catch((error: unknown) => {
			if (error instanceof StoreUnavailable) return undefined;
			throw error;
		});
		const waits = pending && [
			{ ...PENDING, samples: pending.map(({ endpoint, count: size }): Sample => [[endpoint], size]) },
			{
				...OVERDUE,
				samples: pending.map(({ endpoint, oldestDueAt }): Sample => {
					return [[endpoint], Math.max(0, now() - oldestDueAt) / 1000];
				}),
			},
		];
		return [...(waits ?? []), { ...FINISHED, samples: finished.samples() }];
	};
}
