export interface Backoff {
	firstMs: number;
	longestMs: number;
}

/**
 * Wait after `tries` (from 1) failures, ms: `firstMs` doubled up to `longestMs`, minus up to a half. `random`: 0 to
 * below 1.
 */
export function waitAfter(tries: number, { firstMs, longestMs }: Backoff, random: () => number): number {
	const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries - 1, 30));
	return full * (1 - random() / 2);
}
