/**
 * Traces of jobs, of their webhooks and of starts of workers (D52). What began is decided at the submission, by its
 * client or the sampler; jobs that failed or took long are recorded all the same, at their end. Without a tracer the
 * context of the client is passed on as it is.
 */
import type { Job } from "../../core/jobs/job.ts";
import type { JobState } from "../../core/jobs/job-states.ts";
import { attemptContext, jobSpans, submissionContext, traceOf } from "../../core/tracing/job-spans.ts";
import { startSpans, type WorkerStart } from "../../core/tracing/start-spans.ts";
import { storedTrace, type TraceContext } from "../../core/tracing/trace-context.ts";
import { hexIds } from "../../lib/ids.ts";
import type { EpochMs, WallMs } from "../../lib/time.ts";
import type { Tracer } from "../../telemetry/contract.ts";
import { type EngineContext, unlessUnavailable } from "../context.ts";
import type { WorkerRegistry } from "../workers/worker-registry.ts";

/** Time from the submission to the end, ms. */
const SLOW_MS = 60_000;

const MOST_READS = 100;

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

type Traced = Pick<Job, "id" | "trace">;

export type Traces = ReturnType<typeof createTraces>;

export function createTraces(
	d: EngineContext & {
		tracer: Tracer | undefined;
		registry: WorkerRegistry;
	},
) {
	const { store, tracer, calendar, random, registry } = d;
	let reads = 0;
	const newId = hexIds(random);
	const wall = (at: EpochMs): WallMs => calendar.of(at);
	const clientOf = ({ trace }: Traced): TraceContext | undefined =>
		trace === undefined ? undefined : storedTrace(trace);

	async function record(job: Job, isWhole: boolean): Promise<void> {
		const { endpoint, id } = job;
		const attempts = isWhole ? [] : await store.jobs.attempts({ endpoint, id });
		const startOf = (worker: string) => registry.get({ endpoint, id: worker })?.began;
		for (const span of jobSpans(job, attempts, { wall, startOf })) tracer!.record(span);
	}

	function ended(job: Job): void {
		if (!tracer) return;
		const isLate = (job.endedAt ?? job.submittedAt) - job.submittedAt >= SLOW_MS;
		const hasFailed = job.state === "FAILED" || job.state === "TIMED_OUT";
		// Most jobs of a service that samples few have none.
		if (!isLate && !hasFailed && (job.trace === undefined || traceOf(job)?.isSampled !== true)) return;
		// The only attempt of a job whose worker reported its end is in its record.
		const isWhole =
			job.attempt === 1 &&
			job.retriedAt === undefined &&
			(job.state === "COMPLETED" || job.state === "FAILED") &&
			job.losses === 0;
		record(job, isWhole).catch(unlessUnavailable(d, `tracing job ${job.id}`));
	}

	return {
		tracer,
		now: (): WallMs => calendar.now(),
		/** A start or wake is over. All are recorded: they are rare, and a job that waited for one links to it. */
		started(start: WorkerStart): void {
			if (!tracer) return;
			const ids = { traceId: newId(TRACE_DIGITS), spanId: newId(SPAN_DIGITS) };
			for (const span of startSpans(start, { ...ids, newSpanId: () => newId(SPAN_DIGITS), wall })) tracer.record(span);
			const worker = registry.get({ endpoint: start.endpoint, id: start.worker });
			if (worker) worker.began = { ...ids, at: start.phases[0][2] };
		},
		/** Ids of a span below `parent`, or of a new trace. */
		newIds: (parent: TraceContext | undefined): Pick<TraceContext, "traceId" | "spanId"> => ({
			traceId: parent?.traceId ?? newId(TRACE_DIGITS),
			spanId: newId(SPAN_DIGITS),
		}),
		/** The trace that has the spans of the job, if there is one. */
		idOf: (job: Traced): string | undefined => (tracer ? traceOf(job) : clientOf(job))?.traceId,
		/** The context for the worker that gets the job. */
		ofAttempt: (job: Job): TraceContext | undefined => (tracer ? attemptContext(job) : clientOf(job)),
		/** The job ended here, by a report or a cancellation. */
		ended,
		/**
		 * The job ended without a report through this server. Its record is read, of {@link MOST_READS} jobs at a time: the
		 * traces of the others are left out.
		 */
		async settled({ endpoint, id, state }: { endpoint: string; id: string; state: JobState }): Promise<void> {
			if (!tracer || (state !== "FAILED" && state !== "TIMED_OUT") || reads >= MOST_READS) return;
			reads += 1;
			try {
				const found = await store.jobs.get({ endpoint, id, now: d.now(), large: "size" });
				if (found) ended(found.job);
			} catch (error) {
				unlessUnavailable(d, `tracing job ${id}`)(error);
			} finally {
				reads -= 1;
			}
		},
		/** Returns the context for the receiver of a webhook, and what records the try when it has ended. */
		ofDelivery(
			job: Traced & { endpoint: string },
			{ delivery, url }: { delivery: string; url: string },
		): {
			context: TraceContext | undefined;
			end: (answer: { status?: number | undefined }) => void;
		} {
			const parent = tracer ? submissionContext(job) : clientOf(job);
			if (!tracer || !parent) return { context: parent, end: () => {} };
			const context = { ...parent, spanId: newId(SPAN_DIGITS) };
			const start: WallMs = calendar.now();
			return {
				context,
				end({ status }) {
					if (!parent.isSampled && status === 200) return;
					tracer.record({
						...context,
						parentId: parent.spanId,
						name: `deliver ${job.endpoint}`,
						kind: "client",
						start,
						end: calendar.now(),
						attributes: {
							"http.request.method": "POST",
							"server.address": URL.parse(url)?.hostname ?? "",
							"sluice.delivery.id": delivery,
							...(status !== undefined && { "http.response.status_code": status }),
						},
						...(status !== 200 && { error: status === undefined ? "no_answer" : String(status) }),
					});
				},
			};
		},
	};
}
