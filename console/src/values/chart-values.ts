/** Values of charts: which are shown alone, and how times read. */
import type { Series } from "../client/shapes.ts";

/** The last value; of times the last that is known, since most steps have none. */
export function lastOf(values: Series, unit: "count" | "ms"): number | null | undefined {
	return unit === "ms" ? values.findLast((value) => value !== null) : values.at(-1);
}

export function sumOf(values: Series): number {
	return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

/** Seconds from the first to the last value. */
export function spanOf(times: ArrayLike<number>): number {
	return (times[times.length - 1] ?? 0) - (times[0] ?? 0);
}

/** Whether the step that begins at `start` is not over, s; `now`: ms since the epoch. */
export function isOpen(start: number, step: number, now: number): boolean {
	return (start + step) * 1000 > now;
}

/** Longer spans show days. */
const DAYS = 36 * 3600;

export function timeOf(seconds: number, span: number): string {
	const date = new Date(seconds * 1000);
	const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
	const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
	if (span <= DAYS) return time;
	return time === "00:00" ? day : `${day} ${time}`;
}

/** Values without a neighbour, of which no line can be drawn. */
export function isolated(values: Series): number[] {
	const known = (index: number): boolean => (values[index] ?? null) !== null;
	return values.flatMap((_, index) => (known(index) && !known(index - 1) && !known(index + 1) ? [index] : []));
}

/** Distances of labels that read well as durations, ms. */
export const MS_STEPS = [
	...[1, 10, 100].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
	...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1000),
	...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
	...[1, 2, 3, 6, 12, 24, 48, 96, 240, 720].map((hours) => hours * 3_600_000),
];
