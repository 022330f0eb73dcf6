/** How fast a batch moves: by two readings of how many of its requests have ended. */

export interface Reading {
	/** Ms since the epoch. */
	at: number;
	/** Requests. */
	ended: number;
}

export interface Speed {
	/** Requests. */
	perMs: number;
	/** Undefined while nothing ends. */
	leftMs: number | undefined;
}

const MINUTE_MS = 60_000;
/** Between the two readings, at least: a shorter time says little. */
const LEAST_MS = 5000;

/** Adds a reading to those of the last minute; where there is none, such as after a pause, to the last one. */
export function withReading(readings: readonly Reading[], next: Reading): readonly Reading[] {
	const recent = readings.filter(({ at }) => at >= next.at - MINUTE_MS);
	return [...(recent.length > 0 ? recent : readings.slice(-1)), next];
}

/** By the first and the last reading; undefined as long as they are too close. */
export function speedOf(readings: readonly Reading[], total: number): Speed | undefined {
	const [first, last] = [readings[0], readings.at(-1)];
	if (!first || !last || last.at - first.at < LEAST_MS) return undefined;
	const perMs = (last.ended - first.ended) / (last.at - first.at);
	return { perMs, leftMs: perMs > 0 ? Math.max(0, total - last.ended) / perMs : undefined };
}
