/** Times that charts and the overview show: a span that ends now, or a fixed one. */
import type { StepMs } from "../../../src/kernel/core/metrics/metric-buckets.ts";
import { duration } from "../text/format.ts";
import { T } from "../text/text.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const METRICS_KEPT_MS = 30 * DAY_MS;

/** The service keeps minutes for a day and hours for 30 days. */
export const SPANS = [
	{ id: "15m", ms: 15 * MINUTE_MS },
	{ id: "1h", ms: HOUR_MS },
	{ id: "6h", ms: 6 * HOUR_MS },
	{ id: "24h", ms: DAY_MS },
	{ id: "7d", ms: 7 * DAY_MS },
	{ id: "30d", ms: METRICS_KEPT_MS },
] as const;
export type SpanId = (typeof SPANS)[number]["id"];

export interface Range {
	/** Ms since the epoch. */
	from: number;
	to: number;
	step: StepMs;
	/** A fixed range has none. */
	span?: SpanId;
}

/** Shortest fixed range: a chart of fewer steps says nothing. */
const SHORTEST_MS = 5 * MINUTE_MS;

export function spanOf(id: string | null): (typeof SPANS)[number] {
	return SPANS.find((each) => each.id === id) ?? SPANS[1];
}

/** A length in words: that of a span, if it is its own within `slack` ms. */
export function spanText(ms: number, slack: number): string {
	const span = SPANS.find((each) => Math.abs(each.ms - ms) <= slack);
	return span ? T.charts.spans[span.id] : duration(ms);
}

/** The range that an address names: `from` and `to` in ms, or `span`. */
export function rangeOf(query: URLSearchParams, now: number): Range {
	const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
	if (from > 0 && to > from) return { from, to, step: stepOf(from, to, now) };
	const span = spanOf(query.get("span"));
	return { from: now - span.ms, to: now, step: stepOf(now - span.ms, now, now), span: span.id };
}

/** Minutes where they are kept, for at most a day. */
export function stepOf(from: number, to: number, now: number): StepMs {
	return to - from <= DAY_MS && from >= now - DAY_MS - MINUTE_MS ? MINUTE_MS : HOUR_MS;
}

/** A part of a range, of whole steps and not too short; never in the future. */
export function zoomed(from: number, to: number, now: number): { from: number; to: number } {
	const step = stepOf(from, to, now);
	const least = Math.max(SHORTEST_MS, 3 * step);
	const middle = (from + to) / 2;
	const half = Math.max(to - from, least) / 2;
	const end = Math.min(now, middle + half);
	return { from: Math.floor((end - 2 * half) / step) * step, to: Math.ceil(end / step) * step };
}
