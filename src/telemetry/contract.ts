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

/** A line of the service's log or of a worker. */
export interface ExportedLine {
	text: string;
	at: WallMs;
	/** Such as `info`, in any case. */
	level?: string | undefined;
	attributes: Readonly<Record<string, string | number | boolean>>;
	trace?: TraceContext | undefined;
}

export interface LogExporter {
	/** Time between two exports, ms. */
	delayMs: number;
	/** Lines since the start. */
	counts: Record<"exported" | "dropped", number>;
	/** Queues a line of the service's log, in its JSON format, for the next {@link send}; drops it if too many wait. */
	add(line: string): void;
	/** Resolves when the collector has taken the lines and those that wait, or they were dropped. */
	send(lines: readonly ExportedLine[]): Promise<void>;
}
