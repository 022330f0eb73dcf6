/** The interface of the service for OpenTelemetry, of which nothing is loaded unless an OTEL_* variable asks for it. */
import type { Span } from "../core/tracing/span.ts";
import type { TraceContext } from "../core/tracing/trace-context.ts";

export interface Tracer {
	/** Whether a trace that begins here, or goes on from `parent`, is recorded. */
	samples(traceId: string, parent: TraceContext | undefined): boolean;
	/** Queues it for the exporter; drops it if too many wait. */
	record(span: Span): void;
	/** Exports what waits. */
	close(): Promise<void>;
}
