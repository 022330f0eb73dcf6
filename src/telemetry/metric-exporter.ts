/** Exports the metric families of `/metrics` with OpenTelemetry's SDK, over OTLP (decision 0055). */
import { type HrTime, ValueType } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import {
	AggregationTemporality,
	DataPointType,
	MeterProvider,
	type MetricData,
	PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { atMost, type Histogram, sizeOfHistogram } from "../lib/histogram.ts";
import type { ExportedFamily } from "./contract.ts";
import type { MetricSettings } from "./settings.ts";

/** Bounds of buckets: 2^power, of times ms. */
const POWERS = Array.from({ length: 12 }, (_, index) => 2 * index);

/** `families` is called for each export. `now`: ms since the epoch. */
export function exportMetrics(
	settings: MetricSettings,
	q: { resource: Resource; version: string; families: () => Promise<readonly ExportedFamily[]>; now: () => number },
): { close: () => Promise<void> } {
	const startTime = timeOf(q.now());
	const collect = async () => {
		const times = { startTime, endTime: timeOf(q.now()) };
		const metrics = (await q.families()).map((family) => dataOf(family, times));
		const scope = { name: "sluice", version: q.version };
		return { resourceMetrics: { resource: q.resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
	};
	const reader = new PeriodicExportingMetricReader({
		...settings,
		exporter: new OTLPMetricExporter(),
		metricProducers: [{ collect }],
	});
	const provider = new MeterProvider({ resource: q.resource, readers: [reader] });
	return { close: () => provider.shutdown() };
}

function timeOf(ms: number): HrTime {
	return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
}

function dataOf(
	{ name, type, help, labels, samples }: ExportedFamily,
	times: { startTime: HrTime; endTime: HrTime },
): MetricData {
	const unit = name.includes("_seconds") ? "s" : name.includes("_bytes") ? "By" : "";
	const points = samples.map(([values, value]) => ({
		...times,
		attributes: Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""])),
		value,
	}));
	const metric = {
		descriptor: { name, description: help, unit, valueType: ValueType.DOUBLE },
		aggregationTemporality: AggregationTemporality.CUMULATIVE,
	};
	if (type === "histogram") {
		const scale = unit === "s" ? 1000 : 1;
		const dataPoints = points.map((point) => ({ ...point, value: bucketsOf(point.value as Histogram, scale) }));
		return { ...metric, dataPointType: DataPointType.HISTOGRAM, dataPoints };
	}
	const dataPoints = points.map((point) => ({ ...point, value: point.value as number }));
	return type === "counter"
		? { ...metric, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
		: { ...metric, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** `scale`: what the sum and the bounds are divided by. */
function bucketsOf(histogram: Histogram, scale: number) {
	const upTo = POWERS.map((power) => atMost(histogram, power));
	const count = sizeOfHistogram(histogram);
	const counts = [...upTo, count].map((size, index) => size - (upTo[index - 1] ?? 0));
	return {
		buckets: { boundaries: POWERS.map((power) => 2 ** power / scale), counts },
		sum: histogram.sum / scale,
		count,
	};
}
