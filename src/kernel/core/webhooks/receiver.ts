/**
 * Pauses a receiver that does not answer, and disables one that fails for days (D21). By endpoint, since a client of
 * another endpoint could make calls to a shared host fail on purpose.
 */

/** Times in ms since the epoch. */
export interface ReceiverHealth {
	failingSince: number;
	failures: number;
	/** Deliveries whose last attempt failed. */
	failed: number;
	/** In a row. */
	unanswered: number;
	reason: string;
	pausedUntil?: number | undefined;
	disabledAt?: number | undefined;
}

export interface ReceiverRow extends ReceiverHealth {
	endpoint: string;
	receiver: string;
}

/** Attempts without an answer in a row. */
export const PAUSE_AFTER = 10;

/** Each further failure doubles the pause. */
export const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

/** In addition to the time. */
export const DISABLE_AFTER_FAILED = 10;

export interface ReceiverAttempt {
	/** Absent without an answer. */
	status?: number | undefined;
	reason: string;
	last: boolean;
	/** Undefined: never. */
	disableAfterMs?: number | undefined;
	now: number;
}

/** Undefined if the attempt succeeded. */
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

/** The address as submitted; without user and password. */
export function withoutUser(text: string): string {
	const url = URL.parse(text);
	if (url === null || (url.username === "" && url.password === "")) return text;
	url.username = url.password = "";
	return url.href;
}

/** Path and query may be secret. */
export function receiverOf(url: string): string {
	return (URL.parse(url)?.host ?? "").slice(0, MAX_RECEIVER);
}
