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
	/** Ids of spans, perhaps of other traces. */
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
interface DecodedSpans {
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

interface Message<Decoded> {
	decode(bytes: Uint8Array): object;
	toObject(message: object, options: object): Decoded;
}

const OPTIONS = { bytes: String, longs: String, arrays: true };

const { trace } = (
	definitions as unknown as {
		opentelemetry: {
			proto: { collector: { trace: { v1: { ExportTraceServiceRequest: Message<DecodedSpans> } } } };
		};
	}
).opentelemetry.proto.collector;

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
			const request = trace.v1.ExportTraceServiceRequest;
			const { resourceSpans } = request.toObject(request.decode(body), OPTIONS);
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
