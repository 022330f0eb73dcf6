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

export function signsOfPast(
	{ startedAt, signAt = startedAt, missed }: Attempt,
	{ leaseMs }: Pick<Job, "leaseMs">,
): AttemptSigns {
	return { startedAt, signAt, leaseMs, missed };
}

/** What is stored of an old attempt at a call that showed that it runs. */
export type StoredSigns = Pick<Attempt, "missed" | "signAt">;

export function signed({ startedAt }: Pick<Attempt, "startedAt">, at: number): StoredSigns {
	return { missed: 0, ...(at > startedAt && { signAt: at }) };
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
	if (missed === 0) return now - startedAt + 1;
	return now - (startedAt + missed - 1) >= INTERVAL_PART * intervalMs ? "over" : missed;
}

/** Whether a take that reports nothing in progress ends an old attempt: no call named it, or none for a lease. */
export function isSilent({ startedAt, signAt, leaseMs }: AttemptSigns, now: number): boolean {
	return signAt === startedAt || now - signAt >= leaseMs;
}

/** What is stored of a run at a call that showed that it runs. */
export const NAMED: Pick<Job, "missed" | "deniedAt"> = { missed: 0, deniedAt: undefined };

/** Whether the last call about a run named it: no ping has omitted it since, and no take denied it. */
export function isUndisputed({ missed, deniedAt }: Pick<Job, "missed" | "deniedAt">): boolean {
	return missed === 0 && deniedAt === undefined;
}

/** Whether a call that names a run shows two processes: a take denied it, and pings are at most `intervalMs` older. */
export function isShared({ deniedAt }: Pick<Job, "deniedAt">, q: { now: number; intervalMs: number }): boolean {
	return deniedAt !== undefined && q.now - deniedAt > q.intervalMs;
}
