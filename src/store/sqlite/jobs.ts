/**
 * The operations on jobs, but for `claim`, `list` and what counts. Each runs inside a batch of the
 * database thread.
 */
import { dueAt, lossOf } from "../../core/job-transitions.ts";
import { newJob } from "../../core/job.ts";
import { allowed } from "../../core/job-states.ts";
import type { InsertResult, MoveResult, Running } from "../contract/jobs.ts";
import { openClaim } from "./claim.ts";
import { openCounts } from "./rows/counts.ts";
import { openList } from "./list.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { isPurged } from "./rows/row.ts";
import type { Row } from "./rows/row.ts";
import { RUNNING } from "../states.ts";
import type { GroupHandlers } from "../operations.ts";

export function openJobs(parts: UnitOfWork): GroupHandlers<"jobs"> {
	const {
		queues,
		records,
		attempts,
		texts,
		moves,
		due,
		purge,
		live,
		views,
		idempotency,
		blocks,
		signal,
	} = parts;
	const counting = openCounts(parts);
	const running = records.prepare(`SELECT seq FROM jobs WHERE state = '${RUNNING}'`);

	/** The row of a job after what has passed for it; undefined for an unknown or erased one. */
	function settled(q: { endpoint: string; id: string; now: number }): Row | undefined {
		const found = records.find(q);
		const row = found && moves.pass(found, q.now);
		return row?.job.erased ? undefined : row;
	}

	/** The answer to a submission under a key that was used for the same one. */
	function repeated(endpoint: string, id: string, now: number): InsertResult {
		const row = records.find({ endpoint, id });
		const job = row && moves.project(row, now)?.job;
		if (!job) return { ok: false, why: "key_expired" };
		return job.erased
			? { ok: false, why: "key_expired", state: job.state }
			: { ok: true, job, repeated: true };
	}

	function moved(row: Row, applied: ReturnType<typeof moves.apply>): MoveResult {
		return applied
			? { ok: true, job: applied.step.job }
			: { ok: false, why: "state", state: row.job.state };
	}

	return {
		insert({ submission, input, now, queueBound, idempotency: given }) {
			const queue = queues.of(submission.endpoint);
			const place = given && { queue, operation: submission.operation, key: given.key };
			const used = place && idempotency.find(place, now);
			if (used)
				return used.bodyHash === given.bodyHash
					? repeated(submission.endpoint, used.job, now)
					: { ok: false, why: "key_reused" };
			if (counting.isFull(queue, queueBound, now)) return { ok: false, why: "full" };
			const job = newJob(submission, now);
			const row = records.insert({ job, queue, rank: queues.nextBack() });
			texts.setInput(row, input);
			queues.added(queue, job.lowPriority);
			if (place)
				idempotency.put(place, { bodyHash: given.bodyHash, job: job.id }, now + given.keptMs);
			return { ok: true, job };
		},

		get(q) {
			const row = records.find(q);
			return row && views.result(row, q.now);
		},

		record(q) {
			const row = records.find(q);
			return row && views.record(row, q.now);
		},

		list: openList(parts),
		counts: counting.counts,
		allCounts: counting.allCounts,
		waiting: counting.waiting,
		claim: openClaim(parts),

		report({ endpoint, id, worker, outcome, now }) {
			const row = settled({ endpoint, id, now });
			if (!row) return { ok: false, why: "missing" };
			const { state } = row.job;
			if (state === RUNNING && row.job.worker === worker) {
				return moved(
					row,
					moves.apply(row, outcome.on, {
						now,
						result: { output: outcome.output, error: outcome.error },
					}),
				);
			}
			const known = row.job.worker === worker || attempts.includes(row, worker);
			if (!known) return { ok: false, why: "missing", state };
			attempts.closeAt(row, worker);
			return { ok: false, why: "stale", state };
		},

		progress({ endpoint, id, worker, value, now }) {
			const row = settled({ endpoint, id, now });
			if (row?.job.state !== RUNNING || row.job.worker !== worker) return false;
			texts.setResult(row, { output: value });
			moves.renew(row, now);
			return true;
		},

		move({ endpoint, id, on, attempt, over = false, queueBound, now }) {
			const row = settled({ endpoint, id, now });
			if (!row) return { ok: false, why: "missing" };
			if (
				on === "retry" &&
				allowed(row.job.state, on) &&
				counting.isFull(row.queue, queueBound, now)
			)
				return { ok: false, why: "full" };
			if ((on === "release" || on === "lose") && attempt !== row.job.attempt)
				return { ok: false, why: "stale", state: row.job.state };
			return moved(row, moves.apply(row, on === "lose" ? lossOf(row.job) : on, { now, over }));
		},

		retain({ endpoint, id, retainMs, now }) {
			const row = settled({ endpoint, id, now });
			if (!row || retainMs >= row.job.retainMs) return row && views.stored(row);
			const job = { ...row.job, retainMs };
			const after = records.update(row, { job: { ...job, dueAt: dueAt(job) } });
			const last = views.stored(after);
			moves.pass(after, now);
			return last;
		},

		purge({ endpoint, now }) {
			due.freshen(now);
			const queue = queues.find(endpoint);
			const removed = queue ? purge.mark(queue) : 0;
			if (removed > 0) signal({ kind: "purged", endpoint });
			return removed;
		},

		cancelAll({ endpoint, limit, now }) {
			due.freshen(now);
			const queue = queues.find(endpoint);
			if (!queue) return { cancelled: 0, left: false };
			let cancelled = 0;
			for (const seq of live.some(queue, limit)) {
				const row = moves.pass(records.at(seq), now);
				const applied = row && moves.apply(row, "cancel", { now });
				if (!applied) continue;
				moves.announce(applied.step);
				cancelled += 1;
			}
			return { cancelled, left: queue.counts.inQueue + queue.counts.inProgress > 0 };
		},

		settle({ now, limit }) {
			const purging = purge.remove(limit);
			const { settled: count, nextDueAt = Infinity } = due.settle({ now, limit });
			const more = blocks.removeDropped() || purging ? now : Infinity;
			const next = Math.min(more, nextDueAt, idempotency.expire(now, limit));
			return { settled: count, nextDueAt: Number.isFinite(next) ? next : undefined };
		},

		extendAll({ now }) {
			for (const [seq] of running.all()) {
				const row = records.at(Number(seq));
				const leaseUntil = Math.max(row.job.leaseUntil ?? 0, now + row.job.leaseMs);
				const job = { ...row.job, leaseUntil, missed: 0 };
				records.update(row, { job: { ...job, dueAt: dueAt(job) } });
			}
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

		attempts(q) {
			const row = records.find(q);
			return row ? attempts.list(row) : [];
		},
	};
}
