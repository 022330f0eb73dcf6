/** The interface of the service for OpenTelemetry, of which nothing is loaded unless an OTEL_* variable asks for it. */
import type { Span } from "../core/tracing/span.ts";
import type { TraceContext } from "../core/tracing/trace-context.ts";
import type { WallMs } from "../lib/time.ts";

export interface Tracer {
	/** Whether a trace that begins here, or goes on from `parent`, is recorded. */
	samples(traceId: string, parent: TraceContext | undefined): boolean;
	/** Queues it for the exporter; drops it if too many wait. */
	record(span: Span): void;
	/** Exports what waits. */
	close(): Promise<void>;
}

/** A line that a worker wrote. */
export interface ExportedLine {
	text: string;
	at: WallMs;
	/** Such as `INFO`. */
	level?: string | undefined;
	attributes: Readonly<Record<string, string | number>>;
	trace?: TraceContext | undefined;
}

export interface LogExporter {
	/** Lines since the start. */
	counts: Record<"exported" | "dropped", number>;
	/** Resolves when the collector has taken the lines, or they were dropped. */
	send(lines: readonly ExportedLine[]): Promise<void>;
}
