import type { DialectHandlers } from "../../operations/table.ts";
import { forget, isForgettable } from "../../tables/endpoints.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import type { RunWork } from "../tables.ts";

export function openEndpoints({ queues, due }: UnitOfWork, run: RunWork): DialectHandlers<"endpoints"> {
	return {
		forget({ id, now }) {
			const queue = queues.find(id);
			const live = (): number => (queue ? queue.counts.inQueue + queue.counts.inProgress : 0);
			due.settleUntil(now, () => live() === 0);
			const forgettable = run(isForgettable(id));
			if (forgettable === undefined) return true;
			if (!forgettable || live() > 0) return false;
			// The queue's row stays: the records of its jobs refer to it.
			if (queue) queues.forgetTotals(queue);
			run(forget(id));
			return true;
		},
	};
}
