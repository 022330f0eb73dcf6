/** W3C Trace Context: `traceparent` and `tracestate` of requests, jobs, workers and webhooks. */
import type { Job } from "./jobs/job.ts";

export interface TraceContext {
	/** 32 hex digits. */
	traceId: string;
	/** 16 hex digits. */
	spanId: string;
	/** The spans of this trace are recorded. */
	isSampled: boolean;
	/** Members of other systems, passed on unchanged. */
	state?: string | undefined;
}

/** Characters; a longer one is left out, as the standard allows. */
const STATE_LIMIT = 512;

const PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for a text that is no `traceparent`: the standard says that it is ignored. */
export function readTraceparent(parent: string, state?: string): TraceContext | undefined {
	const [, version, traceId, spanId, flags, more] = PARENT.exec(parent) ?? [];
	if (traceId === undefined || spanId === undefined || (version === "00" && more !== undefined)) return undefined;
	const isKept = state !== undefined && state.length <= STATE_LIMIT && /^[\x20-\x7e]+$/.test(state);
	return { traceId, spanId, isSampled: (Number.parseInt(flags!, 16) & 1) === 1, ...(isKept && { state }) };
}

export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
	return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The text of `Job.trace`: `traceparent`, and after a space `tracestate`. */
export function traceText(context: TraceContext): string {
	const { state } = context;
	return state === undefined ? traceparentOf(context) : `${traceparentOf(context)} ${state}`;
}

export function storedTrace(text: string): TraceContext | undefined {
	const space = text.indexOf(" ");
	return space < 0 ? readTraceparent(text) : readTraceparent(text.slice(0, space), text.slice(space + 1));
}

/** What the client of the job sent. */
export function clientTrace({ trace }: { trace?: string | undefined }): TraceContext | undefined {
	return trace === undefined ? undefined : storedTrace(trace);
}

/** The trace that a request belongs to. */
export interface RequestTrace {
	/** The parent of what the request causes. */
	context: TraceContext;
	/** What its span says, if one is recorded; handlers add to it. */
	attributes?: Record<string, string | number>;
	/** Called once, when the request is over and its sender has shown a key. */
	end?(q: { status: number; requestId: string }): void;
}

/**
 * Where the kernel asks a module that records traces (D52). Without one, what a client sent as `traceparent` is passed
 * on as it is.
 */
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
