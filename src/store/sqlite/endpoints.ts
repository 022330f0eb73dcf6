/** Forgets endpoints whose last job has ended. */
import type { DialectHandlers } from "../operations/table.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openEndpoints({ db, queues, due }: UnitOfWork): DialectHandlers<"endpoints"> {
	const known = db.prepare("SELECT removing FROM endpoints WHERE id = ?");
	const pending = db.prepare(
		"SELECT 1 FROM deliveries WHERE state <> 'delivered' AND state = 'pending' AND endpoint = ? LIMIT 1",
	);
	const forget = db.prepare("DELETE FROM endpoints WHERE id = ?");
	const forgetTokens = db.prepare("DELETE FROM tokens WHERE endpoint = ?");
	const forgetWorkers = db.prepare("DELETE FROM ended_workers WHERE endpoint = ?");
	const forgetMetrics = db.prepare("DELETE FROM metrics WHERE endpoint = ?");

	return {
		forget({ id, now }) {
			const removing = known.get(id)?.[0];
			if (removing === undefined) return true;
			const queue = queues.find(id);
			const live = (): number => (queue ? queue.counts.inQueue + queue.counts.inProgress : 0);
			due.settleUntil(now, () => live() === 0);
			if (removing !== 1 || live() > 0 || pending.get(id)) return false;
			// The queue's row stays: the records of its jobs refer to it.
			if (queue) queues.forgetTotals(queue);
			forgetTokens.run(id);
			forgetMetrics.run(id);
			forgetWorkers.run(id);
			forget.run(id);
			return true;
		},
	};
}
