/**
 * Spans in what a receiver of OTLP got, decoded by a reader that the exporter does not use: that of protobufjs, made of
 * OpenTelemetry's published definitions.
 */
import definitions from "otlp-definitions/build/src/generated/root.js";
import type { Received } from "./webhook-receiver.ts";

export interface ReceivedSpan {
	service: string;
	name: string;
	kind: number;
	traceId: string;
	spanId: string;
	/** "" for a root. */
	parentId: string;
	/** Ids of spans. */
	links: string[];
	attributes: Record<string, string | number>;
	error: boolean;
	/** Milliseconds. */
	start: number;
	end: number;
}

interface Value {
	stringValue?: string;
	intValue?: number;
	doubleValue?: number;
}
type Attributes = { key: string; value: Value }[];

/** As protobufjs gives it. */
interface Decoded {
	resourceSpans: {
		resource: { attributes: Attributes };
		scopeSpans: {
			spans: {
				name: string;
				kind: number;
				traceId: string;
				spanId: string;
				parentSpanId: string;
				links: { spanId: string }[];
				attributes: Attributes;
				status?: { code: number };
				startTimeUnixNano: string;
				endTimeUnixNano: string;
			}[];
		}[];
	}[];
}

const ERROR = 2;

interface Message {
	decode(bytes: Uint8Array): object;
	toObject(message: object, options: object): Decoded;
}

const REQUEST = (
	definitions as unknown as {
		opentelemetry: { proto: { collector: { trace: { v1: { ExportTraceServiceRequest: Message } } } } };
	}
).opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

const hexOf = (base64: string): string => Buffer.from(base64, "base64").toString("hex");

const read = (attributes: Attributes): Record<string, string | number> =>
	Object.fromEntries(
		attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
	);

/** Of all requests to `/v1/traces`. */
export function spansIn(received: readonly Received[]): ReceivedSpan[] {
	return received
		.filter(({ path }) => path === "/v1/traces")
		.flatMap(({ body }) => {
			const options = { bytes: String, longs: String, arrays: true };
			const { resourceSpans } = REQUEST.toObject(REQUEST.decode(body), options);
			return resourceSpans.flatMap(({ resource, scopeSpans }) =>
				scopeSpans.flatMap(({ spans }) =>
					spans.map((span) => ({
						service: String(read(resource.attributes)["service.name"]),
						name: span.name,
						kind: span.kind,
						traceId: hexOf(span.traceId),
						spanId: hexOf(span.spanId),
						parentId: hexOf(span.parentSpanId ?? ""),
						links: span.links.map(({ spanId }) => hexOf(spanId)),
						attributes: read(span.attributes),
						error: span.status?.code === ERROR,
						start: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
						end: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
					})),
				),
			);
		});
}
