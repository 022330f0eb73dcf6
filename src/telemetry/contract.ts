/** The interface of the service for OpenTelemetry, of which nothing is loaded unless an OTEL_* variable asks for it. */
import type { Span } from "../core/tracing/span.ts";
import type { TraceContext } from "../core/tracing/trace-context.ts";
import type { Histogram } from "../lib/histogram.ts";

export interface Tracer {
	/** Whether a trace that begins here, or goes on from `parent`, is recorded. */
	samples(traceId: string, parent: TraceContext | undefined): boolean;
	/** Queues it for the exporter; drops it if too many wait. */
	record(span: Span): void;
	/** Exports what waits. */
	close(): Promise<void>;
}

/** A family of `/metrics`; times of histograms are in ms, all others in the unit of the name. */
export interface ExportedFamily {
	name: string;
	type: "gauge" | "counter" | "histogram";
	labels: readonly string[];
	help: string;
	/** Values of the labels in their order, and the value. */
	samples: readonly (readonly [labels: readonly string[], value: number | Histogram])[];
}
