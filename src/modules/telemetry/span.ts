/** A span as the service records it; times are ms since the epoch by the time of day. */
import type { WallMs } from "../../kernel/lib/time.ts";

export interface SpanLink {
	traceId: string;
	spanId: string;
}

export interface Span {
	traceId: string;
	spanId: string;
	parentId?: string | undefined;
	state?: string | undefined;
	name: string;
	kind: "server" | "client" | "producer" | "consumer" | "internal";
	start: WallMs;
	end: WallMs;
	/** Names of OpenTelemetry's semantic conventions, or with the prefix `sluice.`. */
	attributes: Readonly<Record<string, string | number>>;
	/** Low cardinality, such as `timed_out`; absent: it succeeded. */
	error?: string | undefined;
	/** A span that caused it. */
	link?: SpanLink | undefined;
}
