/**
 * Traces of requests, of jobs, of their webhooks and of starts of workers (D52). What began is decided at the
 * submission, by its client or the sampler; jobs that failed or took long are recorded all the same, at their end.
 */
import type { Job } from "../../kernel/core/jobs/job.ts";
import type { TraceContext, TraceHooks } from "../../kernel/core/trace.ts";
import { type EngineContext, unlessUnavailable } from "../../kernel/engine/context.ts";
import type { Worker, WorkerRegistry } from "../../kernel/engine/workers/worker-registry.ts";
import type { Events } from "../../kernel/events.ts";
import { hexIds } from "../../kernel/lib/ids.ts";
import type { EpochMs, WallMs } from "../../kernel/lib/time.ts";
import type { Tracer } from "./contract.ts";
import { attemptContext, type Began, jobSpans, submissionContext, traceOf } from "./job-spans.ts";
import { startSpans } from "./start-spans.ts";

/** Time from the submission to the end, ms. */
const SLOW_MS = 60_000;

const MOST_READS = 100;

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

export function createTraces(d: EngineContext & { tracer: Tracer; registry: WorkerRegistry }): TraceHooks {
	const { store, tracer, calendar, random, registry, events, background } = d;
	let reads = 0;
	const newId = hexIds(random);
	const wall = (at: EpochMs): WallMs => calendar.of(at);
	/** The last start or wake of workers. */
	const began = new WeakMap<Worker, Began>();

	async function record(job: Job, isWhole: boolean): Promise<void> {
		const { endpoint, id } = job;
		const attempts = isWhole ? [] : await store.jobs.attempts({ endpoint, id });
		const startOf = (worker: string): Began | undefined => {
			const found = registry.get({ endpoint, id: worker });
			return found && began.get(found);
		};
		for (const span of jobSpans(job, attempts, { wall, startOf })) tracer.record(span);
	}

	function ended(job: Job): void {
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

	/**
	 * Reads the record of a job that ended without a report through this server, of at most {@link MOST_READS} jobs at a
	 * time: traces of further ones are left out.
	 */
	async function readEnded({ endpoint, id }: { endpoint: string; id: string }): Promise<void> {
		if (reads >= MOST_READS) return;
		reads += 1;
		try {
			const found = await store.jobs.get({ endpoint, id, now: d.now(), large: "size" });
			if (found) ended(found.job);
		} catch (error) {
			unlessUnavailable(d, `tracing job ${id}`)(error);
		} finally {
			reads -= 1;
		}
	}

	/** All are recorded: they are rare, and a job that waited for one links to it. */
	function started(start: Events["worker.timed"]): void {
		const ids = { traceId: newId(TRACE_DIGITS), spanId: newId(SPAN_DIGITS) };
		for (const span of startSpans(start, { ...ids, newSpanId: () => newId(SPAN_DIGITS), wall })) tracer.record(span);
		const worker = registry.get({ endpoint: start.endpoint, id: start.worker });
		const [whole] = start.phases;
		if (worker && whole) began.set(worker, { ...ids, at: whole[2] });
	}

	events.on("worker.timed", started);
	events.on("job.settled", ({ endpoint, id, state, worker, elsewhere }) => {
		if (worker !== undefined || elsewhere || (state !== "FAILED" && state !== "TIMED_OUT")) return;
		background.run(`tracing job ${id}`, readEnded({ endpoint, id }));
	});

	return {
		request({ method, path, client }) {
			const ids = { traceId: client?.traceId ?? newId(TRACE_DIGITS), spanId: newId(SPAN_DIGITS) };
			if (!tracer.samples(ids.traceId, client)) return client && { context: { ...client, isSampled: false } };
			const attributes: Record<string, string | number> = { "http.request.method": method, "http.route": path };
			const state = client?.state;
			const begin = { ...ids, parentId: client?.spanId, state, name: `${method} ${path}`, start: calendar.now() };
			return {
				context: { ...ids, isSampled: true, state },
				attributes,
				end({ status, requestId }) {
					attributes["http.response.status_code"] = status;
					attributes["sluice.request.id"] = requestId;
					const error = status >= 500 ? String(status) : undefined;
					tracer.record({ ...begin, kind: "server", end: calendar.now(), attributes, error });
				},
			};
		},
		idOf: (job) => traceOf(job)?.traceId,
		attempt: attemptContext,
		ended,
		delivery({ job, delivery, url }) {
			const parent = submissionContext(job);
			if (!parent) return { context: undefined, end: () => {} };
			const context: TraceContext = { ...parent, spanId: newId(SPAN_DIGITS) };
			const start = calendar.now();
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
