/** Exports lines of workers with OpenTelemetry's exporter, over OTLP (decision 0055). */
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import type { ExportedLine, LogExporter } from "./contract.ts";
import { timeOf } from "./resource.ts";

/** SeverityNumber of OpenTelemetry, by the levels of RunPod's SDK. */
const SEVERITIES: Readonly<Record<string, number>> = { TRACE: 1, DEBUG: 5, INFO: 9, WARN: 13, ERROR: 17 };

export function openLogs(q: {
	resource: Resource;
	version: string;
	now: () => number;
}): LogExporter & { close: () => Promise<void> } {
	// Each worker has one export in flight: a limit would drop lines of those above it.
	const exporter = new OTLPLogExporter({ concurrencyLimit: Infinity });
	const counts = { exported: 0, dropped: 0 };
	const of = { resource: q.resource, instrumentationScope: { name: "sluice", version: q.version } };

	function recordOf({ text, at, level = "", attributes, trace }: ExportedLine) {
		return {
			hrTime: timeOf(at),
			hrTimeObserved: timeOf(q.now()),
			severityText: level,
			severityNumber: SEVERITIES[level] ?? 0,
			body: text,
			...{ attributes, droppedAttributesCount: 0, ...of },
			...(trace && { spanContext: { ...trace, traceFlags: Number(trace.isSampled) } }),
		};
	}

	return {
		counts,
		async send(lines) {
			const isTaken = await new Promise<boolean>((resolve) =>
				exporter.export(lines.map(recordOf), ({ code }) => resolve(code === 0)),
			);
			counts[isTaken ? "exported" : "dropped"] += lines.length;
		},
		close: () => exporter.shutdown(),
	};
}
