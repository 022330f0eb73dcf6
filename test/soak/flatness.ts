/**
 * Whether a series grows: the median of all slopes between two points of its second half
 * (Theil-Sen), which single outliers do not change. A restart of a process begins a new life: only
 * points of one life are compared, after the time in which a new process warms up.
 */

export interface Point {
	/** Seconds. */
	at: number;
	value: number;
	/** Of which process, for example; points of different lives are not compared. */
	life?: number;
}

/** Growth that is accepted in an hour: in percent of the median, and at least so much. */
export interface Bound {
	percent: number;
	least: number;
}

export interface Flatness {
	verdict: "flat" | "grows" | "too short";
	/** Medians at the beginning and at the end of what is judged. */
	first?: number;
	last?: number;
	/** The slope, and the ends of its 95 % interval. */
	percentPerHour?: number;
	low?: number;
	high?: number;
	/** Longest time over which points were compared, minutes. */
	minutes?: number;
}

/** Shortest time of a point, seconds, and how many there are at most. */
const [POINT_S, POINTS] = [30, 120];

/** Fewer are not judged. */
const LEAST_POINTS = 8;

/** After its start a process is not judged for this time, seconds. */
const WARM_UP_S = 600;

const CONFIDENCE = 1.96;
const HOUR_S = 3600;

export function flatness(points: readonly Point[], bound: Bound): Flatness {
	const [begin, end] = [points[0]?.at ?? 0, points.at(-1)?.at ?? 0];
	const length = end - begin;
	const width = Math.max(POINT_S, length / 2 / POINTS);
	const lives = [...Map.groupBy(points, ({ life = 0 }) => life).values()].map((life) => {
		const born = life[0]!.at;
		const from = Math.max(begin + length / 2, born + WARM_UP_S);
		return medians(
			life.filter(({ at }) => at >= from),
			width,
		);
	});
	const judged = lives.flat();
	if (judged.length < LEAST_POINTS) return { verdict: "too short" };
	const slopes = lives.flatMap(slopesOf).toSorted((a, b) => a - b);
	const middle = medianOf(judged.map(({ value }) => value));
	const percent = (slope: number): number => (middle === 0 ? 0 : (slope * 100 * HOUR_S) / middle);
	const [low, high] = interval(
		slopes,
		lives.map(({ length: count }) => count),
	);
	const slope = medianOf(slopes);
	const most = Math.max(bound.percent, middle === 0 ? 0 : (bound.least / middle) * 100);
	const grows = percent(slope) > most && percent(low) > 0;
	const quarter = Math.ceil(judged.length / 4);
	const ordered = judged.toSorted((a, b) => a.at - b.at).map(({ value }) => value);
	return {
		verdict: grows ? "grows" : "flat",
		first: medianOf(ordered.slice(0, quarter)),
		last: medianOf(ordered.slice(-quarter)),
		percentPerHour: percent(slope),
		low: percent(low),
		high: percent(high),
		minutes: Math.max(...lives.map((life) => (life.at(-1)?.at ?? 0) - (life[0]?.at ?? 0))) / 60,
	};
}

/** One point for each span of time that has some. */
export function medians(points: readonly Point[], width: number): Point[] {
	return [...Map.groupBy(points, ({ at }) => Math.floor(at / width))].map(([n, group]) => ({
		at: (n + 0.5) * width,
		value: medianOf(group.map(({ value }) => value)),
	}));
}

export function medianOf(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function slopesOf(points: readonly Point[]): number[] {
	return points.flatMap((a, index) => points.slice(index + 1).map((b) => (b.value - a.value) / (b.at - a.at)));
}

/** Of Theil-Sen's slope, by the variance of Kendall's statistic. */
function interval(sorted: readonly number[], counts: readonly number[]): [number, number] {
	const variance = counts.reduce((sum, n) => sum + (n * (n - 1) * (2 * n + 5)) / 18, 0);
	const half = CONFIDENCE * Math.sqrt(variance);
	const at = (index: number): number => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(index)))]!;
	return [at((sorted.length - half) / 2), at((sorted.length + half) / 2)];
}
