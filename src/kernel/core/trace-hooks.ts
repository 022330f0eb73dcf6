/**
 * Where the kernel asks a module that records traces (D52). Without one, what a client sent as `traceparent` is passed
 * on as it is.
 */
import type { Job } from "./jobs/job.ts";
import type { TraceContext } from "./trace-context.ts";

/** The trace that a request belongs to. */
export interface RequestTrace {
	/** The parent of what the request causes. */
	context: TraceContext;
	/** What its span says, if one is recorded; handlers add to it. */
	attributes?: Record<string, string | number>;
	/** Called once, when the request is over and its sender has shown a key. */
	end?(q: { status: number; requestId: string }): void;
}

export interface TraceHooks {
	/** Called before the handler; `path` is that of the route, `client` what the client sent. */
	request(q: { method: string; path: string; client: TraceContext | undefined }): RequestTrace | undefined;
	/** Returns the context for the worker that gets the job. */
	attempt(job: Job): TraceContext | undefined;
	/** Returns the trace that has the spans of the job. */
	idOf(job: Pick<Job, "id" | "trace">): string | undefined;
	/** A report or a cancellation at this server ended the job. Other ends are known from `job.settled` alone. */
	ended(job: Job): void;
	/** A webhook is about to be sent: returns the context for its receiver, and what is called after the answer. */
	delivery(q: { job: Pick<Job, "id" | "endpoint" | "trace">; delivery: string; url: string }): {
		context: TraceContext | undefined;
		end(answer: { status?: number | undefined }): void;
	};
}
