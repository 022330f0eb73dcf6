/** What exported spans, metrics and lines are of, and times as OpenTelemetry has them. */
import {
	defaultResource,
	detectResources,
	envDetector,
	type Resource,
	resourceFromAttributes,
} from "@opentelemetry/resources";

/** `instance`: of this server, where several share a store. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win. */
export function serviceResource({ version, instance }: { version: string; instance: string }): Resource {
	const own = resourceFromAttributes({
		"service.name": "sluice",
		"service.version": version,
		"service.instance.id": instance,
	});
	return defaultResource()
		.merge(own)
		.merge(detectResources({ detectors: [envDetector] }));
}

/** Takes ms since the epoch. */
export function timeOf(ms: number): [seconds: number, nanoseconds: number] {
	return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
}
