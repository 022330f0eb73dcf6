/** Percentiles of times in bounded memory: buckets that grow by 5 %. */

const GROWTH = 1.05;
/** Upper bound of the first bucket, ms. */
const LEAST = 0.05;

export class Times {
	/** By bucket; holes are empty. */
	private readonly counts: number[] = [];
	count = 0;

	add(ms: number): void {
		const at = Math.max(0, Math.ceil(Math.log(Math.max(ms, LEAST) / LEAST) / Math.log(GROWTH)));
		this.counts[at] = (this.counts[at] ?? 0) + 1;
		this.count += 1;
	}

	/** Upper bound of the bucket in which this part of all lies; undefined without any. */
	at(part: number): number | undefined {
		if (this.count === 0) return undefined;
		let left = Math.max(1, Math.ceil(this.count * part));
		let index = -1;
		while (left > 0) left -= this.counts[(index += 1)] ?? 0;
		return Number((LEAST * GROWTH ** index).toPrecision(3));
	}
}

/** Times of a window and of all. */
export class LatencyWindow {
	private window = new Times();
	readonly all = new Times();

	add(ms: number): void {
		this.window.add(ms);
		this.all.add(ms);
	}

	/** Percentiles since the last call. */
	next(): Percentiles {
		const found = percentiles(this.window);
		this.window = new Times();
		return found;
	}
}

export interface Percentiles {
	p50?: number;
	p99?: number;
}

export function percentiles(times: Times): Percentiles {
	const [p50, p99] = [times.at(0.5), times.at(0.99)];
	return p50 === undefined ? {} : { p50, p99: p99! };
}
