/** Families of metrics, as they are exposed to Prometheus and exported. */
import { atMost, type Histogram, sizeOfHistogram } from "../../../kernel/lib/histogram.ts";

export type MetricType = "gauge" | "counter" | "histogram";

/** Histograms of times are in ms. */
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

/** Bounds are 2^power, of times ms: 1 ms to 70 min. Each is also a bound of the finer histogram. */
const POWERS = Array.from({ length: 12 }, (_, index) => 2 * index);

/** Buckets in the unit of the name. `upTo`: counts up to each bound. */
export function bucketsOf(name: string, histogram: Histogram) {
	const scale = name.endsWith("_seconds") ? 1000 : 1;
	return {
		bounds: POWERS.map((power) => 2 ** power / scale),
		upTo: POWERS.map((power) => atMost(histogram, power)),
		count: sizeOfHistogram(histogram),
		sum: histogram.sum / scale,
	};
}
