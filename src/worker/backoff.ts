/** How long to wait before trying again. */

/** The first and the longest wait of a series, in ms. */
export interface Backoff {
	firstMs: number;
	longestMs: number;
}

/**
 * The wait before try `tries + 1`, in ms, after `tries` failures (1 or more): doubling from
 * `firstMs` to `longestMs`, of which a random part of up to one half is taken off, so that many
 * workers do not come back in the same moment. `random` gives a number from 0 to below 1.
 */
export function waitAfter(
	tries: number,
	{ firstMs, longestMs }: Backoff,
	random: () => number,
): number {
	const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries - 1, 30));
	return full * (1 - random() / 2);
}
