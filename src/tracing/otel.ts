/** Exports spans with OpenTelemetry's SDK, over OTLP (decision 0055). Loaded only where traces are exported. */
import {
	diag,
	type DiagLogger,
	DiagLogLevel,
	ROOT_CONTEXT,
	SpanKind,
	SpanStatusCode,
	createTraceState,
	trace,
	TraceFlags,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
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
import type { Span } from "../core/tracing/span.ts";
import type { TraceContext } from "../core/tracing/trace-context.ts";
import type { Clock } from "../system/clock.ts";
import type { Tracer } from "./contract.ts";
import type { TracingSettings } from "./settings.ts";

const KINDS = {
	server: SpanKind.SERVER,
	client: SpanKind.CLIENT,
	producer: SpanKind.PRODUCER,
	consumer: SpanKind.CONSUMER,
	internal: SpanKind.INTERNAL,
} as const;

const CLOSE_MS = 3000;

/** Time between two reports of failed exports, ms. */
const REPORT_MS = 60_000;

/** `instance`: of this server, where several share a store. */
export function openTracer(
	settings: TracingSettings,
	{
		version,
		instance,
		clock,
		onError,
	}: { version: string; instance: string; clock: Clock; onError: (message: string) => void },
): Tracer {
	diag.setLogger(errorLogger(clock, onError), { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
	const sampler = samplerOf(settings);
	let ids = { traceId: "", spanId: "" };
	const own = resourceFromAttributes({
		"service.name": "sluice",
		"service.version": version,
		"service.instance.id": instance,
	});
	const provider = new TracerProvider({
		resource: defaultResource()
			.merge(own)
			.merge(detectResources({ detectors: [envDetector] })),
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
			const links = link === undefined ? [] : [{ context: { traceId, spanId: link, traceFlags: TraceFlags.SAMPLED } }];
			const span = tracer.startSpan(name, { kind: KINDS[kind], startTime: start, attributes, links }, parent);
			if (error !== undefined) {
				span.setAttribute("error.type", error);
				span.setStatus({ code: SpanStatusCode.ERROR });
			}
			span.end(end);
		},
		// Waits for a collector that does not answer only so long.
		close: () => Promise.race([provider.shutdown(), clock.sleep(CLOSE_MS)]),
	};
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
	const root = sampler.endsWith("always_on")
		? new AlwaysOnSampler()
		: sampler.endsWith("always_off")
			? new AlwaysOffSampler()
			: new TraceIdRatioBasedSampler(ratio);
	return sampler.startsWith("parentbased") ? new ParentBasedSampler({ root }) : root;
}

/** The first error of each minute: a collector that does not answer fails each batch. */
function errorLogger(clock: Clock, onError: (message: string) => void): DiagLogger {
	const none = (): void => {};
	let reportedAt = -Infinity;
	return {
		error(message) {
			if (clock.now() - reportedAt < REPORT_MS) return;
			reportedAt = clock.now();
			onError(message);
		},
		warn: none,
		info: none,
		debug: none,
		verbose: none,
	};
}
