/** The spans of a worker's start, made when it is over, or of its wake: a trace of their own (D52). */
import type { EpochMs, WallMs } from "../../kernel/lib/time.ts";
import type { Events } from "../../kernel/events.ts";
import type { Span, SpanLink } from "./span.ts";

/** The first one has the id `spanId`, and the others are below it. */
export function startSpans(
	{ endpoint, worker, outcome, fault = "exited", phases }: Events["worker.timed"],
	{ traceId, spanId, ...q }: SpanLink & { newSpanId: () => string; wall: (at: EpochMs) => WallMs },
): Span[] {
	const attributes = {
		"messaging.destination.name": endpoint,
		"messaging.client.id": worker,
		"sluice.start.outcome": outcome,
	};
	return phases.map(([name, from, until], index) => ({
		...{ traceId, ...(index === 0 ? { spanId } : { spanId: q.newSpanId(), parentId: spanId }) },
		...{ name: `${name} ${endpoint}`, kind: "internal", start: q.wall(from), end: q.wall(until), attributes },
		...(outcome === "failed" && (index === 0 || index === phases.length - 1) && { error: fault }),
	}));
}
