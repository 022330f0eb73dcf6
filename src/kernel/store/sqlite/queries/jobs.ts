import { cancelEach, dueTimes, extendLease } from "../../operations/steps.ts";
import type { DialectHandlers } from "../../operations/table.ts";
import { RUNNING } from "../../row.ts";
import type { Running } from "../../contract/jobs.ts";
import { openClaim } from "./claim.ts";
import { openList } from "./list.ts";
import { openCounts } from "../rows/counts.ts";
import { isPurged } from "../rows/row.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";

export function openJobs(unit: UnitOfWork): DialectHandlers<"jobs"> {
	const { queues, records, attempts, due, purge, live, idempotency, signals } = unit;
	const running = records.prepare(`SELECT seq FROM jobs WHERE state = '${RUNNING}'`);

	return {
		...openCounts(unit),
		list: openList(unit),
		claim: openClaim(unit),

		purge({ endpoint, now }) {
			due.freshen(now);
			const queue = queues.find(endpoint);
			const removed = queue ? purge.mark(queue) : 0;
			if (removed > 0) signals.add({ kind: "purged", endpoint });
			return removed;
		},

		cancelAll({ endpoint, limit, now }) {
			due.freshen(now);
			const queue = queues.find(endpoint);
			if (!queue) return { cancelled: 0, left: false };
			const rows = live.some(queue, limit).map((seq) => records.at(seq));
			const cancelled = cancelEach(unit, rows, now);
			return { cancelled, left: queue.counts.inQueue + queue.counts.inProgress > 0 };
		},

		settle({ now, limit, expiries }) {
			const purging = purge.remove(limit);
			const passed = due.settle({ now, limit, expiries: expiries ?? limit });
			return {
				settled: passed.settled,
				...dueTimes({
					nextDueAt: Math.min(purging ? now : Infinity, passed.liveDueAt, idempotency.expire(now, limit)),
					expiryDueAt: passed.expiryDueAt,
					separate: expiries !== undefined,
				}),
			};
		},

		extendAll({ now }) {
			for (const [seq] of running.all()) extendLease(unit, records.at(Number(seq)), now);
			attempts.forgetMissed();
		},

		running(): Running[] {
			return running.all().map(([seq]) => {
				const { endpoint, id, worker = "", attempt, startedAt = 0 } = records.at(Number(seq)).job;
				return { endpoint, id, worker, attempt, startedAt };
			});
		},

		unstopped() {
			return attempts.unstopped().flatMap(({ seq, worker }) => {
				const row = records.at(seq);
				return isPurged(row) ? [] : [{ endpoint: row.job.endpoint, id: row.job.id, worker }];
			});
		},
	};
}
