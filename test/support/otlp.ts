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

interface DecodedPoint {
	attributes: Attributes;
	asDouble?: number;
	count?: string;
	sum?: number;
	bucketCounts?: string[];
	explicitBounds?: number[];
}

interface DecodedMetrics {
	resourceMetrics: {
		scopeMetrics: {
			metrics: ({ name: string; unit: string } & Partial<
				Record<"gauge" | "sum" | "histogram", { dataPoints: DecodedPoint[] }>
			>)[];
		}[];
	}[];
}

interface DecodedLogs {
	resourceLogs: {
		scopeLogs: {
			logRecords: {
				timeUnixNano: string;
				severityNumber?: number;
				body: Value;
				attributes: Attributes;
				traceId?: string;
				spanId?: string;
			}[];
		}[];
	}[];
}

interface Message<Decoded> {
	decode(bytes: Uint8Array): object;
	toObject(message: object, options: object): Decoded;
}

const OPTIONS = { bytes: String, longs: String, arrays: true };

const { trace, metrics, logs } = (
	definitions as unknown as {
		opentelemetry: {
			proto: {
				collector: {
					trace: { v1: { ExportTraceServiceRequest: Message<DecodedSpans> } };
					logs: { v1: { ExportLogsServiceRequest: Message<DecodedLogs> } };
					metrics: { v1: { ExportMetricsServiceRequest: Message<DecodedMetrics> } };
				};
			};
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

export interface ReceivedPoint {
	labels: Record<string, string | number>;
	/** Of a histogram its count. */
	value: number;
	/** Counts of buckets up to their bounds, and above. */
	buckets?: { bounds: number[]; counts: number[] };
}

/** The last values in all requests to `/v1/metrics`, by family. */
export function metricsIn(received: readonly Received[]): Map<string, { unit: string; points: ReceivedPoint[] }> {
	const request = metrics.v1.ExportMetricsServiceRequest;
	const found = new Map<string, { unit: string; points: ReceivedPoint[] }>();
	for (const { path, body } of received) {
		if (path !== "/v1/metrics") continue;
		const { resourceMetrics } = request.toObject(request.decode(body), OPTIONS);
		for (const metric of resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((each) => each.metrics))) {
			const { dataPoints = [] } = metric.gauge ?? metric.sum ?? metric.histogram ?? {};
			const points = dataPoints.map(({ attributes, asDouble, count, bucketCounts = [], explicitBounds = [] }) => ({
				labels: read(attributes),
				value: asDouble ?? Number(count),
				...(explicitBounds.length > 0 && { buckets: { bounds: explicitBounds, counts: bucketCounts.map(Number) } }),
			}));
			found.set(metric.name, { unit: metric.unit, points });
		}
	}
	return found;
}

export interface ReceivedLine {
	body: string;
	/** SeverityNumber of OpenTelemetry; 0: none. */
	severity: number;
	/** Milliseconds. */
	time: number;
	attributes: Record<string, string | number>;
	/** "" without a trace. */
	traceId: string;
	spanId: string;
}

/** Of all requests to `/v1/logs`. */
export function logsIn(received: readonly Received[]): ReceivedLine[] {
	const request = logs.v1.ExportLogsServiceRequest;
	return received
		.filter(({ path }) => path === "/v1/logs")
		.flatMap(({ body }) => request.toObject(request.decode(body), OPTIONS).resourceLogs)
		.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
		.map((record) => ({
			body: record.body.stringValue ?? "",
			severity: record.severityNumber ?? 0,
			time: Number(BigInt(record.timeUnixNano) / 1_000_000n),
			attributes: read(record.attributes),
			traceId: hexOf(record.traceId ?? ""),
			spanId: hexOf(record.spanId ?? ""),
		}));
}
