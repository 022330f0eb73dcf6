/**
 * Health of a webhook receiver, by the endpoint that calls it (D21): one that does not answer is
 * paused, one that fails for days is disabled. By endpoint, since a client of another endpoint could
 * make calls to a shared host fail on purpose. Pure.
 */

/** A receiver whose last attempt failed. Times in ms since the epoch. */
export interface ReceiverHealth {
	failingSince: number;
	/** Attempts since then. */
	failures: number;
	/** Deliveries since then whose last attempt failed. */
	failed: number;
	/** Attempts without an answer, in a row. */
	unanswered: number;
	/** Reason of the last failure. */
	reason: string;
	/** No attempt before. */
	pausedUntil?: number | undefined;
	disabledAt?: number | undefined;
}

/** A failed receiver as stored. */
export interface ReceiverRow extends ReceiverHealth {
	endpoint: string;
	receiver: string;
}

/** Attempts without an answer in a row after which a receiver is paused. */
export const PAUSE_AFTER = 10;

/** The first pause, ms; each further failure doubles it, up to the longest. */
export const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

/** Failed deliveries, beside the time, after which a receiver is disabled. */
export const DISABLE_AFTER_FAILED = 10;

export interface ReceiverAttempt {
	/** Absent without an answer. */
	status?: number | undefined;
	/** Why it failed. */
	reason: string;
	/** It was the delivery's last attempt. */
	last: boolean;
	/** Failing for so long, a receiver is disabled; undefined: never. */
	disableAfterMs?: number | undefined;
	now: number;
}

/** Returns the health after an attempt; undefined if it succeeded. */
export function afterAttempt(
	before: ReceiverHealth | undefined,
	{ status, reason, last, disableAfterMs, now }: ReceiverAttempt,
): ReceiverHealth | undefined {
	if (status === 200) return undefined;
	const unanswered = status === undefined ? (before?.unanswered ?? 0) + 1 : 0;
	const failingSince = before?.failingSince ?? now;
	const failed = (before?.failed ?? 0) + Number(last);
	const isLong = disableAfterMs !== undefined && now - failingSince >= disableAfterMs;
	return {
		failingSince,
		failures: (before?.failures ?? 0) + 1,
		failed,
		unanswered,
		reason,
		pausedUntil: unanswered < PAUSE_AFTER ? undefined : now + pauseMs(unanswered),
		disabledAt: before?.disabledAt ?? (isLong && failed >= DISABLE_AFTER_FAILED ? now : undefined),
	};
}

function pauseMs(unanswered: number): number {
	return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(20, unanswered - PAUSE_AFTER));
}

/** No host name with its port is longer. */
const MAX_RECEIVER = 300;

/** Host and port of a webhook's URL; path and query may be secret. */
export function receiverOf(url: string): string {
	return (URL.parse(url)?.host ?? "").slice(0, MAX_RECEIVER);
}
