/** Durations (ms) in exponential buckets; percentiles are within 5 %. */

const PER_DOUBLING = 8;

/** Last bucket: 2^36 ms (two years) and more. */
const LAST = 36 * PER_DOUBLING;

/** Bucket 0: up to 1 ms; bucket n: over 2^((n-1)/8) up to 2^(n/8) ms. */
export interface Histogram {
	/** Counts by bucket number. */
	readonly counts: Map<number, number>;
	sum: number;
}

export function newHistogram(): Histogram {
	return { counts: new Map(), sum: 0 };
}

export function observe(histogram: Histogram, ms: number): void {
	const bucket = ms <= 1 ? 0 : Math.min(LAST, Math.ceil(Math.log2(ms) * PER_DOUBLING));
	histogram.counts.set(bucket, (histogram.counts.get(bucket) ?? 0) + 1);
	histogram.sum += ms;
}

export function addHistogram(to: Histogram, from: Histogram): void {
	for (const [bucket, count] of from.counts) to.counts.set(bucket, (to.counts.get(bucket) ?? 0) + count);
	to.sum += from.sum;
}

export function sizeOfHistogram({ counts }: Histogram): number {
	let size = 0;
	for (const count of counts.values()) size += count;
	return size;
}

/** Number of durations up to 2^`power` ms, which is a bucket bound. */
export function atMost({ counts }: Histogram, power: number): number {
	let size = 0;
	for (const [bucket, count] of counts) if (bucket <= power * PER_DOUBLING) size += count;
	return size;
}

/**
 * Quantiles, ms, as bucket middles; undefined without durations. `quantiles`: 0 to 1, ascending.
 */
export function percentiles(histogram: Histogram, quantiles: readonly number[]): number[] | undefined {
	const size = sizeOfHistogram(histogram);
	if (size === 0) return undefined;
	const sorted = [...histogram.counts].toSorted(([one], [other]) => one - other);
	let [at, below] = [0, 0];
	return quantiles.map((quantile) => {
		while (at < sorted.length - 1 && below + sorted[at]![1] < Math.ceil(quantile * size)) {
			below += sorted[at]![1];
			at += 1;
		}
		const bucket = sorted[at]![0];
		return bucket === 0 ? 1 : Math.round(2 ** ((bucket - 0.5) / PER_DOUBLING));
	});
}

/** Flat list for JSON: the sum, then each bucket and its count. */
export function packHistogram({ counts, sum }: Histogram): number[] {
	return counts.size === 0 ? [] : [Math.round(sum), ...[...counts].flat()];
}

export function unpackHistogram([sum = 0, ...flat]: readonly number[]): Histogram {
	const counts = new Map<number, number>();
	for (let at = 0; at + 1 < flat.length; at += 2) counts.set(flat[at]!, flat[at + 1]!);
	return { counts, sum };
}
