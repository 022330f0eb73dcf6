/** Families of metrics, as `/metrics` exposes them. */
import type { Histogram } from "../../lib/histogram.ts";

export type MetricType = "gauge" | "counter" | "histogram";

/** The exposition converts histograms named `*_seconds` from ms; gauges and counters are in the unit of their name. */
export type MetricValue = number | Histogram;

/** Values of the labels, in their order. */
export type Sample = readonly [labels: readonly string[], value: MetricValue];

/** The name ends with the unit, after Prometheus' conventions. */
export interface FamilyDescription {
	name: string;
	type: MetricType;
	labels: readonly string[];
	/** A sentence. */
	help: string;
}

export interface Family extends FamilyDescription {
	samples: readonly Sample[];
}
