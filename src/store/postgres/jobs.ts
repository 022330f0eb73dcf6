/** The operations on jobs that share transactions, but for `claim`. */
import { dueAt, lossOf } from "../../core/job-transitions.ts";
import { newJob } from "../../core/job.ts";
import { allowed } from "../../core/job-states.ts";
import { RUNNING, WAITING } from "../states.ts";
import type { InsertResult, JobStore, MoveResult } from "../contract/jobs.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import type { Queue, Row } from "./rows/row.ts";

/** Done one after the other in a transaction. */
export type JobSteps = Pick<JobStore, "insert" | "report" | "progress" | "move" | "retain">;

export function openJobs(parts: UnitOfWork): JobSteps {
	const { queues, records, attempts, texts, moves, due, idempotency, tellOthers, kept } = parts;

	/** The row of a job after what has passed for it; undefined for an unknown or erased one. */
	async function settled(q: {
		endpoint: string;
		id: string;
		now: number;
	}): Promise<Row | undefined> {
		const found = await records.find(q);
		const row = found && moves.pass(found, q.now);
		return row?.job.erased ? undefined : row;
	}

	/** Whether more than `bound` jobs wait. */
	async function isFull(queue: Queue, bound: number | undefined, now: number): Promise<boolean> {
		if (bound === undefined) return false;
		while (queue.counts.inQueue > bound && queue.due) await due.freshen(queue, now);
		return queue.counts.inQueue > bound;
	}

	/** The answer to a submission under a key that was used for the same one. */
	async function repeated(endpoint: string, id: string, now: number): Promise<InsertResult> {
		const row = await records.find({ endpoint, id });
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
		async insert({ submission, input, now, queueBound, idempotency: given }) {
			const { endpoint, operation } = submission;
			const queue = queues.of(endpoint);
			const place = given && { endpoint, operation, key: given.key };
			if (place) await idempotency.load([place]);
			const used = place && idempotency.find(place, now);
			if (used)
				return used.bodyHash === given.bodyHash
					? await repeated(endpoint, used.job, now)
					: { ok: false, why: "key_reused" };
			if (await isFull(queue, queueBound, now)) return { ok: false, why: "full" };
			const job = newJob(submission, now);
			const row = records.insert({ job, queue, rank: kept.places.back(now, queue.purgedTo) });
			texts.setInput(row, input);
			queues.added(queue, job.lowPriority);
			tellOthers({ kind: "queued", endpoint, id: job.id });
			if (place)
				idempotency.put(place, { bodyHash: given.bodyHash, job: job.id }, now + given.keptMs);
			return { ok: true, job };
		},

		async report({ endpoint, id, worker, outcome, now }) {
			const row = await settled({ endpoint, id, now });
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

		async progress({ endpoint, id, worker, value, now }) {
			const row = await settled({ endpoint, id, now });
			if (row?.job.state !== RUNNING || row.job.worker !== worker) return false;
			texts.setResult(row, { output: value });
			records.touch(moves.renew(row, now));
			return true;
		},

		async move({ endpoint, id, on, attempt, over = false, queueBound, now }) {
			const row = await settled({ endpoint, id, now });
			if (!row) return { ok: false, why: "missing" };
			if (
				on === "retry" &&
				allowed(row.job.state, on) &&
				(await isFull(row.queue, queueBound, now))
			)
				return { ok: false, why: "full" };
			if ((on === "release" || on === "lose") && attempt !== row.job.attempt)
				return { ok: false, why: "stale", state: row.job.state };
			return moved(row, moves.apply(row, on === "lose" ? lossOf(row.job) : on, { now, over }));
		},

		async retain({ endpoint, id, retainMs, now }) {
			const row = await settled({ endpoint, id, now });
			if (!row) return undefined;
			const shown = row.job.state === WAITING ? {} : await texts.result(row);
			if (retainMs >= row.job.retainMs) return { job: row.job, ...shown };
			const job = { ...row.job, retainMs };
			const after = records.update(row, { job: { ...job, dueAt: dueAt(job) } });
			moves.pass(after, now);
			return { job: after.job, ...shown };
		},
	};
}
