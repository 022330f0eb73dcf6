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
import { bucketsOf, type Family } from "../core/metrics/family.ts";
import type { Histogram } from "../lib/histogram.ts";
import { timeOf } from "./resource.ts";
import type { MetricSettings } from "./settings.ts";

/** `families` is called for each export. `now`: ms since the epoch. */
export function exportMetrics(
	settings: MetricSettings,
	q: { resource: Resource; version: string; families: () => Promise<readonly Family[]>; now: () => number },
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

function dataOf(
	{ name, type, help, labels, samples }: Family,
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
		const dataPoints = points.map((point) => ({ ...point, value: histogramOf(name, point.value as Histogram) }));
		return { ...metric, dataPointType: DataPointType.HISTOGRAM, dataPoints };
	}
	const dataPoints = points.map((point) => ({ ...point, value: point.value as number }));
	return type === "counter"
		? { ...metric, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
		: { ...metric, dataPointType: DataPointType.GAUGE, dataPoints };
}

function histogramOf(name: string, histogram: Histogram) {
	const { bounds, upTo, count, sum } = bucketsOf(name, histogram);
	const counts = [...upTo, count].map((size, index) => size - (upTo[index - 1] ?? 0));
	return { buckets: { boundaries: bounds, counts }, sum, count };
}
