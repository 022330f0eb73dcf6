/**
 * Durations counted in buckets that grow by a constant factor: small, added up by adding their
 * counts, and good for percentiles within 5 %.
 */

/** Buckets to each doubling. */
const PER_DOUBLING = 8;

/** Number of the last bucket, which takes all that is longer: 2^36 ms are two years. */
const LAST = 36 * PER_DOUBLING;

/**
 * Durations, ms. Bucket 0 holds those up to 1 ms, bucket n those over 2^((n-1)/8) ms and up to
 * 2^(n/8) ms.
 */
export interface Histogram {
	/** Counts by the number of their bucket. */
	readonly counts: Map<number, number>;
	/** All durations together, ms. */
	sum: number;
}

export function newHistogram(): Histogram {
	return { counts: new Map(), sum: 0 };
}

/** Counts a duration, ms. */
export function observe(histogram: Histogram, ms: number): void {
	const bucket = ms <= 1 ? 0 : Math.min(LAST, Math.ceil(Math.log2(ms) * PER_DOUBLING));
	histogram.counts.set(bucket, (histogram.counts.get(bucket) ?? 0) + 1);
	histogram.sum += ms;
}

/** Adds what another one has counted. */
export function addHistogram(to: Histogram, from: Histogram): void {
	for (const [bucket, count] of from.counts)
		to.counts.set(bucket, (to.counts.get(bucket) ?? 0) + count);
	to.sum += from.sum;
}

/** How many durations were counted. */
export function sizeOfHistogram({ counts }: Histogram): number {
	let size = 0;
	for (const count of counts.values()) size += count;
	return size;
}

/** How many were at most 2^`power` ms: exact, for these are bounds of buckets. */
export function atMost({ counts }: Histogram, power: number): number {
	let size = 0;
	for (const [bucket, count] of counts) if (bucket <= power * PER_DOUBLING) size += count;
	return size;
}

/**
 * The durations, ms, that these parts of all do not exceed: the middles of their buckets; undefined
 * where nothing was counted. `parts` are from 0 to 1 and rise.
 */
export function percentiles(histogram: Histogram, parts: readonly number[]): number[] | undefined {
	const size = sizeOfHistogram(histogram);
	if (size === 0) return undefined;
	const rising = [...histogram.counts].toSorted(([one], [other]) => one - other);
	let [at, below] = [0, 0];
	return parts.map((part) => {
		while (at < rising.length - 1 && below + rising[at]![1] < Math.ceil(part * size)) {
			below += rising[at]![1];
			at += 1;
		}
		const bucket = rising[at]![0];
		return bucket === 0 ? 1 : Math.round(2 ** ((bucket - 0.5) / PER_DOUBLING));
	});
}

/** As a flat list for JSON: the sum, then each bucket and its count. */
export function packHistogram({ counts, sum }: Histogram): number[] {
	return counts.size === 0 ? [] : [Math.round(sum), ...[...counts].flat()];
}

/** What {@link packHistogram} made. */
export function unpackHistogram([sum = 0, ...flat]: readonly number[]): Histogram {
	const counts = new Map<number, number>();
	for (let at = 0; at + 1 < flat.length; at += 2) counts.set(flat[at]!, flat[at + 1]!);
	return { counts, sum };
}
