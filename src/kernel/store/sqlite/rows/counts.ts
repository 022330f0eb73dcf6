/** Counts of an endpoint (D13), for the scaler (D20, D27) and for the queue bound (D23). */
import { type Counts, countsOf } from "../../../core/jobs/job-transitions.ts";
import type { Answer, Query } from "../../operations/operation.ts";
import type { UnitOfWork } from "./unit-of-work.ts";
import { NO_COUNTS, type Queue } from "./row.ts";
import { WAITING } from "../../row.ts";

export function openCounts({ queues, records, due }: Pick<UnitOfWork, "queues" | "records" | "due">) {
	// Jobs that joined at the back began to wait in rank order. Of those at the front (rank below 0) the last began
	// first.
	const oldestAtBack = records.prepare(
		`SELECT queued_at FROM jobs WHERE queue = ? AND low_priority = 0 AND state = '${WAITING}'
			AND rank > ? AND due_at > ? ORDER BY rank LIMIT 1`,
	);
	const oldestAtFront = records.prepare(
		`SELECT queued_at FROM jobs WHERE queue = ? AND low_priority = 0 AND state = '${WAITING}'
			AND rank < ? AND due_at > ? ORDER BY rank DESC LIMIT 1`,
	);

	function countsOfQueue(queue: Queue, now: number): Counts {
		const counts = { ...queue.counts };
		for (const { after } of due.unsettled(queue, now)) {
			for (const { on, from, job } of after?.steps ?? []) {
				const change = countsOf(on, from, job.state);
				for (const key of Object.keys(counts) as (keyof Counts)[]) counts[key] += change[key];
			}
		}
		return counts;
	}

	function waiting({ endpoint, now }: Query<"jobs.waiting">): Answer<"jobs.waiting"> {
		due.freshen(now);
		const queue = queues.find(endpoint);
		if (!queue) return { jobs: 0 };
		let jobs = queue.counts.inQueue - queue.lowInQueue;
		// The purged interval reaches from the front to a rank at the back.
		const { from, to } = queue.purged;
		const began = [
			oldestAtBack.get(queue.number, Math.max(0, to), now),
			oldestAtFront.get(queue.number, Math.min(0, from), now),
		].flatMap((found) => found ?? []) as number[];
		for (const { row, after } of due.unsettled(queue, now)) {
			if (row.job.lowPriority) continue;
			if (row.job.state === WAITING) jobs -= 1;
			if (after?.job.state === WAITING) {
				jobs += 1;
				began.push(after.job.queuedAt);
			}
		}
		return jobs > 0 ? { jobs, oldestQueuedAt: Math.min(...began) } : { jobs };
	}

	return {
		waiting,

		oldestWaiting: ({ now }: Query<"jobs.oldestWaiting">): Answer<"jobs.oldestWaiting"> =>
			[...queues.all()].flatMap(({ endpoint }) => {
				const { oldestQueuedAt: queuedAt } = waiting({ endpoint, now });
				return queuedAt === undefined ? [] : [{ endpoint, queuedAt }];
			}),

		counts({ endpoint, now }: Query<"jobs.counts">): Answer<"jobs.counts"> {
			due.freshen(now);
			const queue = queues.find(endpoint);
			return queue ? countsOfQueue(queue, now) : { ...NO_COUNTS };
		},

		allCounts({ now }: Query<"jobs.allCounts">): Answer<"jobs.allCounts"> {
			due.freshen(now);
			return [...queues.all()].map((queue) => ({
				endpoint: queue.endpoint,
				counts: countsOfQueue(queue, now),
			}));
		},

		stored: (): Answer<"jobs.stored"> =>
			[...queues.all()].map(({ endpoint, storedBytes }) => ({ endpoint, bytes: storedBytes })),
	};
}
