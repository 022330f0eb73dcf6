/** Latencies of the last seconds in bounded memory: counts by size, to one percent. */

/** Each bucket is so many times as wide as the one before. */
const STEP = 1.01;

/** The smallest bucket, ms. */
const LEAST = 0.01;

export interface Latencies {
	add(ms: number): void;
	/** The values below which these parts of the latencies lie, ms; 0 when there were none. */
	at(parts: readonly number[]): number[];
}

/** `now` is in ms; `seconds`: for how long a latency counts. */
export function latencies({ now, seconds }: { now: () => number; seconds: number }): Latencies {
	/** One for each second. */
	const slots = Array.from({ length: seconds }, () => ({ second: -1, counts: [] as number[] }));
	const secondOf = (): number => Math.floor(now() / 1000);
	const bucketOf = (ms: number): number => (ms <= LEAST ? 0 : Math.ceil(Math.log(ms / LEAST) / Math.log(STEP)));

	return {
		add(ms) {
			const second = secondOf();
			const slot = slots[second % seconds]!;
			if (slot.second !== second) {
				slot.second = second;
				slot.counts = [];
			}
			const bucket = bucketOf(ms);
			slot.counts[bucket] = (slot.counts[bucket] ?? 0) + 1;
		},

		at(parts) {
			const oldest = secondOf() - seconds;
			const sums: number[] = [];
			let total = 0;
			for (const { second, counts } of slots)
				if (second > oldest)
					counts.forEach((count, bucket) => {
						sums[bucket] = (sums[bucket] ?? 0) + count;
						total += count;
					});
			return parts.map((part) => {
				let left = Math.max(1, Math.ceil(total * part));
				for (let bucket = 0; bucket < sums.length; bucket += 1) {
					left -= sums[bucket] ?? 0;
					if (left <= 0) return Number((LEAST * STEP ** bucket).toPrecision(3));
				}
				return 0;
			});
		},
	};
}
