/**
 * The spans of a job, made of its record when it has ended: none is kept in memory meanwhile, and another server or a
 * restart makes the same ones. Their ids follow from the job's id, so that workers and receivers of webhooks get those
 * of their parents before they are recorded.
 */
import type { EpochMs, WallMs } from "../../kernel/lib/time.ts";
import type { Attempt, Job } from "../../kernel/core/jobs/job.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { type AttemptDetails, attemptsOf } from "../../kernel/core/jobs/timeline.ts";
import type { Span, SpanLink } from "./span.ts";
import { storedTrace, type TraceContext } from "../../kernel/core/trace.ts";

/** Ids of jobs end with a UUID (D6). */
const UUID_LENGTH = 36;

/** The span of a worker's start or wake, and when it could take jobs. */
export interface Began extends SpanLink {
	at: EpochMs;
}

/** The trace of the client, or one of the job's own: its id. Undefined for an id without a UUID. */
export function traceOf({ id, trace }: Pick<Job, "id" | "trace">): Omit<TraceContext, "spanId"> | undefined {
	const given = trace === undefined ? undefined : storedTrace(trace);
	if (given) return given;
	if (id.length < UUID_LENGTH) return undefined;
	return { traceId: id.slice(-UUID_LENGTH).replaceAll("-", ""), isSampled: false };
}

/** `part`: 0 for the submission, 2n - 1 and 2n for the wait and the run of attempt n. */
function spanIdOf(id: string, part: number): string {
	const end = (Number.parseInt(id.slice(-8), 16) + part) >>> 0;
	return id.slice(-17, -8).replace("-", "") + end.toString(16).padStart(8, "0");
}

/** The parent of what a worker does for an attempt. */
export function attemptContext(job: Pick<Job, "id" | "trace" | "attempt">): TraceContext | undefined {
	const trace = traceOf(job);
	return trace && { ...trace, spanId: spanIdOf(job.id, 2 * job.attempt) };
}

/** The parent of webhook deliveries. */
export function submissionContext(job: Pick<Job, "id" | "trace">): TraceContext | undefined {
	const trace = traceOf(job);
	return trace && { ...trace, spanId: spanIdOf(job.id, 0) };
}

/**
 * Those since the submission, or since the last retry of the ended job: the others were recorded then. `wall` converts
 * times, `startOf` returns the last start or wake of a worker, to which a wait that saw its end has a link.
 */
export function jobSpans(
	job: Job,
	history: readonly Attempt[],
	{ wall, startOf }: { wall: (at: EpochMs) => WallMs; startOf: (worker: string) => Began | undefined },
): Span[] {
	const trace = traceOf(job);
	if (!trace || !isFinal(job.state)) return [];
	const { id, endpoint } = job;
	const { traceId, state } = trace;
	const submission = spanIdOf(id, 0);
	const parent = job.trace === undefined ? undefined : storedTrace(job.trace)?.spanId;
	const { retriedAt } = job;
	const attempts = attemptsOf(job, history).filter(({ startedAt }) => startedAt >= (retriedAt ?? 0));
	const spans: Span[] = [];
	const add = (
		part: number,
		name: string,
		span: Pick<Span, "kind" | "attributes" | "error" | "link">,
		at: [number, number],
	): void => {
		const [start, end] = [wall(at[0]), wall(Math.max(...at))];
		const common = { "messaging.system": "sluice", "messaging.destination.name": endpoint, "messaging.message.id": id };
		const attributes = { ...common, ...span.attributes };
		const ids = { traceId, state, spanId: spanIdOf(id, part), parentId: part === 0 ? parent : submission };
		spans.push({ ...span, ...ids, name: `${name} ${endpoint}`, start, end, attributes });
	};
	if (retriedAt === undefined)
		add(0, "publish", { kind: "producer", attributes: OPERATIONS.publish }, [job.submittedAt, job.submittedAt]);
	let waitedFrom = retriedAt ?? job.submittedAt;
	for (const details of attempts) {
		const { attempt, worker, startedAt, endedAt = job.endedAt ?? startedAt } = details;
		const start = startOf(worker);
		const link = start && start.at > waitedFrom && start.at <= startedAt ? start : undefined;
		add(2 * attempt - 1, "wait", { kind: "internal", attributes: { "sluice.attempt": attempt }, link }, [
			Math.min(waitedFrom, startedAt),
			startedAt,
		]);
		const run = { kind: "consumer", link: { traceId, spanId: submission }, ...runOf(job, details) } as const;
		add(2 * attempt, "process", run, [startedAt, endedAt]);
		waitedFrom = endedAt;
	}
	// It ended while it waited.
	if (job.startedAt === undefined && job.endedAt !== undefined)
		add(2 * job.attempt + 1, "wait", { kind: "internal", attributes: {}, error: job.state.toLowerCase() }, [
			waitedFrom,
			job.endedAt,
		]);
	return spans;
}

const OPERATIONS = {
	publish: { "messaging.operation.name": "publish", "messaging.operation.type": "send" },
	process: { "messaging.operation.name": "process", "messaging.operation.type": "process" },
} as const;

function runOf(job: Job, { attempt, worker, end }: AttemptDetails): Pick<Span, "attributes" | "error"> {
	const attributes: Record<string, string | number> = {
		...OPERATIONS.process,
		"sluice.attempt": attempt,
		"messaging.consumer.group.name": job.endpoint,
		"messaging.client.id": worker,
	};
	if (attempt === job.attempt && job.release !== undefined) attributes["sluice.release"] = job.release;
	return { attributes, ...(end !== "completed" && { error: end }) };
}
