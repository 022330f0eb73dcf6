/** Endpoint rows. */
import type { DialectHandlers } from "../operations/table.ts";
import { ENDPOINT_COLUMNS, endpointFrom } from "../table-rows.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export function openEndpoints({ db, queues, due }: UnitOfWork): DialectHandlers<"endpoints"> {
	const put = db.prepare(`
    INSERT INTO endpoints (id, settings, secret, created_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET settings = excluded.settings,
      secret = coalesce(excluded.secret, secret), removing = 0`);
	const select = db.prepare(`SELECT ${ENDPOINT_COLUMNS} FROM endpoints ORDER BY id`);
	const pause = db.prepare("UPDATE endpoints SET paused = ? WHERE id = ?");
	const remove = db.prepare("UPDATE endpoints SET removing = 1 WHERE id = ?");
	const known = db.prepare("SELECT removing FROM endpoints WHERE id = ?");
	const pending = db.prepare(
		"SELECT 1 FROM deliveries WHERE state <> 'delivered' AND state = 'pending' AND endpoint = ? LIMIT 1",
	);
	const forget = db.prepare("DELETE FROM endpoints WHERE id = ?");
	const forgetTokens = db.prepare("DELETE FROM tokens WHERE endpoint = ?");
	const forgetWorkers = db.prepare("DELETE FROM ended_workers WHERE endpoint = ?");
	const forgetMetrics = db.prepare("DELETE FROM metrics WHERE endpoint = ?");

	return {
		put({ id, settings, secret, now }) {
			put.run(id, settings, secret ?? null, now);
		},

		list: () => select.all().map(endpointFrom),

		pause: ({ id, paused }) => Number(pause.run(Number(paused), id).changes) > 0,

		remove: ({ id }) => Number(remove.run(id).changes) > 0,

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
