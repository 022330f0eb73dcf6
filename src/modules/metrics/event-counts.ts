/** Rare events of each endpoint since the start of this server, for `/metrics` (D40). */
import type { EventBus } from "../../kernel/events.ts";
import { counts } from "../../kernel/engine/metrics/labelled.ts";

export const REQUEUE_CAUSES = ["lost", "released", "retried"] as const;
export const DROP_REASONS = ["missing", "state", "stale"] as const;

export function eventCounts({ events }: { events: EventBus }) {
	const requeued = counts(events);
	const purged = counts(events);
	const dropped = counts(events);
	const failures = counts(events);
	events.on("job.queued", ({ endpoint, again }) => {
		if (again) requeued.add(1, endpoint, "retried" satisfies (typeof REQUEUE_CAUSES)[number]);
	});
	events.on("job.returned", ({ endpoint, why }) => requeued.add(1, endpoint, why));
	events.on("queue.purged", ({ endpoint, removed }) => purged.add(removed, endpoint));
	events.on("report.dropped", ({ endpoint, why }) => dropped.add(1, endpoint, why));
	events.on("worker.failed", ({ endpoint }) => failures.add(1, endpoint));
	return { requeued, purged, dropped, failures };
}
