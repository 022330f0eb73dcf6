/** Row rules of `perDialect` operations. */
import { NAMED } from "../../core/jobs/attempt-signs.ts";
import { DELIVERY_HISTORY } from "../../core/webhooks.ts";
import { dueAt } from "../../core/jobs/job-transitions.ts";
import { isFinal } from "../../core/jobs/job-states.ts";
import type { KeyRow } from "../contract/access.ts";
import type { DeliveryRow } from "../contract/webhooks.ts";
import type { JobRow } from "../row.ts";
import type { Query } from "./operation.ts";
import type { UnitOfWork } from "./unit-of-work.ts";

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

/** Extends a lease to at least a full one from `now` (D16 Outages). */
export function extendLease<Row extends JobRow>(
	{ records }: { records: Pick<UnitOfWork<Row>["records"], "update"> },
	row: Row,
	now: number,
): void {
	const leaseUntil = Math.max(row.job.leaseUntil ?? 0, now + row.job.leaseMs);
	const job = { ...row.job, leaseUntil, ...NAMED };
	records.update(row, { job: { ...job, dueAt: dueAt(job) } });
}

/**
 * Returns the next due times. `Infinity` in the query: nothing is due. `separate`: expiries in a member of their own.
 */
export function dueTimes(q: { nextDueAt: number; expiryDueAt: number; separate: boolean }): {
	nextDueAt?: number | undefined;
	expiryDueAt?: number | undefined;
} {
	const known = (at: number): number | undefined => (Number.isFinite(at) ? at : undefined);
	return q.separate
		? { nextDueAt: known(q.nextDueAt), expiryDueAt: known(q.expiryDueAt) }
		: { nextDueAt: known(Math.min(q.nextDueAt, q.expiryDueAt)) };
}

/** Decides whether a key may be removed: not the last one with scope `keep` (D30). */
export function removal(
	keys: readonly KeyRow[],
	{ id, now, keep }: Query<"keys.remove">,
): "removed" | "missing" | "last" {
	const key = keys.find((each) => each.id === id);
	if (!key) return "missing";
	const holders = keys.filter(
		({ scopes, expiresAt = Infinity }) => keep !== undefined && scopes.includes(keep) && expiresAt > now,
	);
	return holders.length === 1 && holders[0] === key ? "last" : "removed";
}

export function recordTry<Row extends DeliveryRow>(row: Row, { tried, state, dueAt }: Query<"webhooks.tried">): Row {
	return {
		...row,
		state,
		tries: [...row.tries, tried].slice(-DELIVERY_HISTORY),
		used: row.used + 1,
		dueAt: state === "pending" ? (dueAt ?? row.dueAt) : undefined,
	};
}
