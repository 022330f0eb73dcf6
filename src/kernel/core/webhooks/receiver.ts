/**
 * Pauses a receiver that does not answer (D21). By endpoint, since a client of another endpoint could make calls to a
 * shared host fail on purpose.
 */

export interface ReceiverHealth {
	/** Attempts without an answer in a row. */
	unanswered: number;
	/** Ms since the epoch. */
	pausedUntil?: number | undefined;
}

/** Attempts without an answer in a row. */
export const PAUSE_AFTER = 10;

/** Each further failure doubles the pause. */
export const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

export interface ReceiverAttempt {
	/** With any status. */
	isAnswered: boolean;
	now: number;
}

/** Undefined if the attempt was answered. */
export function afterAttempt(
	before: ReceiverHealth | undefined,
	{ isAnswered, now }: ReceiverAttempt,
): ReceiverHealth | undefined {
	if (isAnswered) return undefined;
	const unanswered = (before?.unanswered ?? 0) + 1;
	return { unanswered, pausedUntil: unanswered < PAUSE_AFTER ? undefined : now + pauseMs(unanswered) };
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
