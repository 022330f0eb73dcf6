/** Submission of a job (D14, D23). */
import { newJob } from "../../core/jobs/job.ts";
import { sizeOf } from "../../lib/json/json-text.ts";
import type { JobRow } from "../row.ts";
import type { InsertResult } from "../contract/jobs.ts";
import type { Query, SharedOperation } from "./operation.ts";
import type { JobKey, KeyPlace, UnitOfWork } from "./unit-of-work.ts";

function keyOf({ submission, idempotency }: Query<"jobs.insert">): KeyPlace | undefined {
	const { endpoint, operation } = submission;
	return idempotency && { endpoint, operation, key: idempotency.key };
}

export function isFull<Row extends JobRow>(
	unit: UnitOfWork<Row>,
	{ endpoint, bound, now }: { endpoint: string; bound: number | undefined; now: number },
): boolean {
	return bound !== undefined && unit.waiting({ endpoint, now, most: bound }) > bound;
}

function repeated<Row extends JobRow>(unit: UnitOfWork<Row>, key: JobKey, now: number): InsertResult {
	const row = unit.records.find(key);
	const job = row && unit.transitions.project(row, now)?.job;
	if (!job) return { ok: false, why: "key_expired" };
	return job.erased ? { ok: false, why: "key_expired", state: job.state } : { ok: true, job, repeated: true };
}

export const insert: SharedOperation<"jobs.insert"> = {
	kind: "write",

	reads(q) {
		const key = keyOf(q);
		return { endpoints: [q.submission.endpoint], keys: key ? [key] : [] };
	},

	follow(unit, q) {
		const { endpoint } = q.submission;
		const key = keyOf(q);
		const use = key && unit.idempotency.find(key, q.now);
		if (use) return { jobs: [{ endpoint, id: use.job }] };
		return q.queueBound === undefined ? undefined : { waiting: { endpoint, now: q.now, most: q.queueBound } };
	},

	apply(unit, q) {
		const { submission, input, now, queueBound, storedBound, idempotency } = q;
		const { endpoint } = submission;
		const key = keyOf(q);
		const use = key && unit.idempotency.find(key, now);
		if (use)
			return use.bodyHash === idempotency?.bodyHash
				? repeated(unit, { endpoint, id: use.job }, now)
				: { ok: false, why: "key_reused" };
		if (isFull(unit, { endpoint, bound: queueBound, now })) return { ok: false, why: "full" };
		const inputBytes = sizeOf(input);
		const stored = storedBound === undefined ? 0 : unit.storedBytes(endpoint);
		if (storedBound !== undefined && stored + inputBytes > storedBound) return { ok: false, why: "stored", stored };
		const job = newJob(submission, now);
		unit.payloads.setInput(unit.records.insert(job, inputBytes), input);
		unit.notifyOthers({ kind: "queued", endpoint, id: job.id });
		if (key && idempotency)
			unit.idempotency.put(key, { bodyHash: idempotency.bodyHash, job: job.id }, now + idempotency.keptMs);
		return { ok: true, job };
	},
};
