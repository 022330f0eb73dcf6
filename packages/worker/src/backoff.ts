/** Exponential backoff with jitter. */

export interface Backoff {
	firstMs: number;
	longestMs: number;
}

/**
 * Wait, ms, after `tries` failures (1 or more): `firstMs` doubled up to `longestMs`, reduced by up
 * to one half at random. `random`: 0 to below 1.
 */
export function waitAfter(tries: number, { firstMs, longestMs }: Backoff, random: () => number): number {
	const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries - 1, 30));
	return full * (1 - random() / 2);
}
