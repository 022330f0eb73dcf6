/** W3C Trace Context: `traceparent` and `tracestate` of requests, jobs, workers and webhooks. */

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
