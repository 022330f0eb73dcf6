/**
 * Decides what calls of a worker prove about an attempt (D16). Two processes may use one worker id, and a proxy may
 * repeat or delay a call, so a call that does not name an attempt proves nothing if another call named it a moment ago.
 */
import type { Attempt, Job } from "./job.ts";

/** After a sign, omissions prove nothing for this time, or for a shorter lease, ms. */
const SIGN_MS = 20_000;

/** Minimum part of a ping interval between two omissions that count, since pings may be a little early. */
const INTERVAL_PART = 0.9;

/** Times are ms since the epoch. */
export interface AttemptSigns extends Pick<Attempt, "startedAt" | "missed"> {
	/** The last call that showed that the attempt runs: at first its start. */
	signAt: number;
	leaseMs: number;
}

/** Returns the signs of a run. A sign renews the lease, so its time follows from the lease. */
export function signsOfRun({ startedAt = 0, leaseUntil = 0, leaseMs, missed }: Job): AttemptSigns {
	return { startedAt, signAt: Math.max(startedAt, leaseUntil - leaseMs), leaseMs, missed };
}

export function signsOfPast({ startedAt, missed }: Attempt, { leaseMs }: Pick<Job, "leaseMs">): AttemptSigns {
	return { startedAt, signAt: Math.max(startedAt, -missed), leaseMs, missed };
}

/** Returns `missed` of an attempt at a call that showed that it runs, see `Attempt`. */
export function missedAfterSign({ startedAt }: Pick<Attempt, "startedAt">, at: number): number {
	return at > startedAt ? -at : 0;
}

/**
 * Returns `missed` after a ping that omits the attempt, or "over" at the second ping in a row: successive pings of one
 * process are one interval apart. Pings count only for what was handed out before `handedBefore`.
 */
export function afterOmission(
	{ startedAt, signAt, leaseMs, missed }: AttemptSigns,
	{ now, handedBefore, intervalMs }: { now: number; handedBefore: number; intervalMs: number },
): number | "over" {
	if (startedAt >= handedBefore) return missed;
	if (signAt > startedAt && now - signAt < Math.min(leaseMs, SIGN_MS)) return missed;
	if (missed <= 0) return now - startedAt + 1;
	return now - (startedAt + missed - 1) >= INTERVAL_PART * intervalMs ? "over" : missed;
}

/** Whether a take that reports nothing in progress ends an old attempt: no call named it, or none for a lease. */
export function isSilent({ startedAt, signAt, leaseMs }: AttemptSigns, now: number): boolean {
	return signAt === startedAt || now - signAt >= leaseMs;
}

/** Returns `missed` of a run after a take that began at `at` and reported nothing in progress, see `Job`. */
export function missedAfterDenial({ missed }: Pick<Job, "missed">, at: number): number {
	return missed === 0 ? -at : missed;
}

/** Whether a call that names a run shows two processes: a take denied it, and pings are at most `intervalMs` older. */
export function isDisputed({ missed }: Pick<Job, "missed">, q: { now: number; intervalMs: number }): boolean {
	return missed < 0 && q.now + missed > q.intervalMs;
}
