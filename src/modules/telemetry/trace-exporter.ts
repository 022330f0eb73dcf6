/** Exports spans with OpenTelemetry's SDK, over OTLP (decision 0055). */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, createTraceState, trace, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
	defaultResource,
	detectResources,
	envDetector,
	type Resource,
	resourceFromAttributes,
} from "@opentelemetry/resources";
import {
	AlwaysOffSampler,
	AlwaysOnSampler,
	BatchSpanProcessor,
	ParentBasedSampler,
	type Sampler,
	SamplingDecision,
	TraceIdRatioBasedSampler,
	TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Span } from "./span.ts";
import type { TraceContext } from "../../kernel/core/trace.ts";
import type { Tracer } from "./contract.ts";
import type { TraceSettings } from "./settings.ts";

const KINDS = {
	server: SpanKind.SERVER,
	client: SpanKind.CLIENT,
	producer: SpanKind.PRODUCER,
	consumer: SpanKind.CONSUMER,
	internal: SpanKind.INTERNAL,
} as const;

export function openTracer(
	settings: TraceSettings,
	{ version, instance }: { version: string; instance: string },
): Tracer {
	const sampler = samplerOf(settings);
	let ids = { traceId: "", spanId: "" };
	const provider = new TracerProvider({
		resource: resourceOf({ version, instance }),
		// What is recorded was decided before.
		sampler: new AlwaysOnSampler(),
		idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
		spanProcessors: [new BatchSpanProcessor({ ...settings.batch, exporter: new OTLPTraceExporter() })],
	});
	const tracer = provider.getTracer("sluice", version);
	const contextOf = ({ traceId, spanId, isSampled, state }: TraceContext) =>
		trace.setSpanContext(ROOT_CONTEXT, {
			traceId,
			spanId,
			isRemote: true,
			traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
			...(state !== undefined && { traceState: createTraceState(state) }),
		});

	return {
		samples(traceId, parent) {
			const context = parent ? contextOf(parent) : ROOT_CONTEXT;
			const { decision } = sampler.shouldSample(context, traceId, "", SpanKind.SERVER, {}, []);
			return decision === SamplingDecision.RECORD_AND_SAMPLED;
		},
		record({ traceId, spanId, parentId, state, name, kind, start, end, attributes, error, link }: Span) {
			ids = { traceId, spanId };
			const parent =
				parentId === undefined ? ROOT_CONTEXT : contextOf({ traceId, spanId: parentId, isSampled: true, state });
			const links = link
				? [{ context: { traceId: link.traceId, spanId: link.spanId, traceFlags: TraceFlags.SAMPLED } }]
				: [];
			const span = tracer.startSpan(name, { kind: KINDS[kind], startTime: start, attributes, links }, parent);
			if (error !== undefined) {
				span.setAttribute("error.type", error);
				span.setStatus({ code: SpanStatusCode.ERROR });
			}
			span.end(end);
		},
		close: () => provider.shutdown(),
	};
}

/** The server that the spans are of. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win. */
function resourceOf({ version, instance }: { version: string; instance: string }): Resource {
	const own = resourceFromAttributes({
		"service.name": "sluice",
		"service.version": version,
		"service.instance.id": instance,
	});
	return defaultResource()
		.merge(own)
		.merge(detectResources({ detectors: [envDetector] }));
}

function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
	const root = sampler.endsWith("always_on")
		? new AlwaysOnSampler()
		: sampler.endsWith("always_off")
			? new AlwaysOffSampler()
			: new TraceIdRatioBasedSampler(ratio);
	return sampler.startsWith("parentbased") ? new ParentBasedSampler({ root }) : root;
}
