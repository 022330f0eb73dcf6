/** Steps of operations on many jobs, which each dialect finds in its own way. */
import { dueAt } from "../../core/job-transitions.ts";
import { isFinal } from "../../core/job-states.ts";
import type { JobRow } from "../row.ts";
import type { UnitOfWork } from "./unit-of-work.ts";

/** Cancels jobs that wait or run, and announces it. Returns how many. */
export function cancelEach<Row extends JobRow>(
	{ transitions }: Pick<UnitOfWork<Row>, "transitions">,
	rows: readonly Row[],
	now: number,
): number {
	let cancelled = 0;
	for (const row of rows) {
		const current = isFinal(row.job.state) ? undefined : transitions.pass(row, now);
		const applied = current && transitions.apply(current, "cancel", { now });
		if (!applied) continue;
		transitions.announce(applied.step);
		cancelled += 1;
	}
	return cancelled;
}

/** Extends the lease of a running job to at least a full one from `now` (D16 Outages). */
export function extendLease<Row extends JobRow>(
	{ records }: { records: Pick<UnitOfWork<Row>["records"], "update"> },
	row: Row,
	now: number,
): void {
	const leaseUntil = Math.max(row.job.leaseUntil ?? 0, now + row.job.leaseMs);
	const job = { ...row.job, leaseUntil, missed: 0 };
	records.update(row, { job: { ...job, dueAt: dueAt(job) } });
}
