/** The spans of a worker's start, made when it is over, and of a wake: a trace of its own (D52). */
import type { EpochMs, WallMs } from "../../lib/time.ts";
import type { Span } from "./span.ts";
import type { TraceContext } from "./trace-context.ts";

/** Times of the job clock. */
export interface WorkerStart {
	endpoint: string;
	worker: string;
	outcome: "ready" | "failed" | "stopped";
	/** Why it failed: the code of an exit. */
	fault?: string | undefined;
	createdAt: EpochMs;
	/** When its platform ran it, or the start was over. */
	placedAt: EpochMs;
	/** The first pull's beginning and the last one's end. */
	pull?: { from: EpochMs; until: EpochMs } | undefined;
	/** Its first call, if it had a warm-up. */
	warmingAt?: EpochMs | undefined;
	endedAt: EpochMs;
}

type Ids = Pick<TraceContext, "traceId" | "spanId">;

/** The span of a start or a wake, and when the worker could take jobs. */
export interface Began extends Ids {
	at: EpochMs;
}

interface Times {
	ids: Ids & Pick<Span, "parentId">;
	wall: (at: EpochMs) => WallMs;
	from: EpochMs;
	until: EpochMs;
}

/** `what`: `start`, a phase of it, or `wake`. */
export function workerSpan(
	what: string,
	{ endpoint, worker }: Pick<WorkerStart, "endpoint" | "worker">,
	{ ids, wall, from, until }: Times,
): Span {
	const attributes = { "messaging.destination.name": endpoint, "messaging.client.id": worker };
	const times = { start: wall(from), end: wall(Math.max(from, until)) };
	return { ...ids, name: `${what} ${endpoint}`, kind: "internal", ...times, attributes };
}

/** The first span is that of the whole start, with `ids`. */
export function startSpans(
	start: WorkerStart,
	q: { ids: Ids; newSpanId: () => string; wall: (at: EpochMs) => WallMs },
): Span[] {
	const { outcome, createdAt, placedAt, pull, warmingAt, endedAt } = start;
	const { ids, wall } = q;
	const { traceId, spanId } = ids;
	const root = workerSpan("start", start, { ids, wall, from: createdAt, until: endedAt });
	root.attributes = { ...root.attributes, "sluice.start.outcome": outcome };
	const phase = (what: string, from: EpochMs, until: EpochMs, parentId = spanId): Span =>
		workerSpan(what, start, { ids: { traceId, spanId: q.newSpanId(), parentId }, wall, from, until });
	const placement = phase("placement", createdAt, placedAt);
	const spans = [root, placement];
	if (pull) spans.push(phase("image_pull", pull.from, pull.until, placement.spanId));
	if (placedAt < endedAt) spans.push(phase("load", placedAt, warmingAt ?? endedAt));
	if (warmingAt !== undefined) spans.push(phase("warm_up", warmingAt, endedAt));
	if (outcome === "failed") for (const each of [root, spans.at(-1)!]) each.error = start.fault ?? "exited";
	return spans;
}
