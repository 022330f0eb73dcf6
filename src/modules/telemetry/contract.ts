/** What the service needs of OpenTelemetry, which is loaded only if an OTEL_* variable asks for traces. */
import type { Span } from "./span.ts";
import type { TraceContext } from "../../kernel/core/trace.ts";

export interface Tracer {
	/** Whether a trace that begins here, or goes on from `parent`, is recorded. */
	samples(traceId: string, parent: TraceContext | undefined): boolean;
	/** Queues it for the exporter; drops it if too many wait. */
	record(span: Span): void;
	/** Exports the spans that wait. */
	close(): Promise<void>;
}
