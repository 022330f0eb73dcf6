/** Which traces the OTEL_* variables ask for. */
import { expect, it } from "vitest";
import { traceSettings } from "./settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" };
const TRACES = { sampler: "parentbased_always_on", ratio: 1, batch: {} };

it.each([
	{},
	{ OTEL_SERVICE_NAME: "x" },
	{ ...ENDPOINT, OTEL_SDK_DISABLED: "true" },
	{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" },
	{ OTEL_METRICS_EXPORTER: "otlp", OTEL_LOGS_EXPORTER: "otlp" },
])("D52: none by %j", (env) => expect(traceSettings(env)).toBeUndefined());

it("D52: an endpoint or an exporter is enough, sampler and batches follow their variables", () => {
	expect(traceSettings(ENDPOINT)).toEqual(TRACES);
	expect(traceSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c/v1/traces" })).toEqual(TRACES);
	const env = { OTEL_TRACES_EXPORTER: "otlp", OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.01" };
	expect(traceSettings({ ...env, OTEL_BSP_SCHEDULE_DELAY: "200" })).toEqual({
		...{ sampler: "traceidratio", ratio: 0.01, batch: { scheduledDelayMillis: 200 } },
	});
});

it.each([
	[{ OTEL_TRACES_EXPORTER: "zipkin" }, 'must be otlp or none, not "zipkin"'],
	[{ OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" }, "must be an http or https URL"],
	[{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, 'must be http/protobuf, not "grpc"'],
	[{ ...ENDPOINT, OTEL_TRACES_SAMPLER: "some" }, "must be one of always_on"],
	[{ ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: "2" }, "from 0 to 1"],
	[{ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: "-1" }, "OTEL_BSP_MAX_QUEUE_SIZE must be a whole number"],
])("D52: %j is refused with its bound", (env, message) => {
	expect(() => traceSettings(env)).toThrow(message);
});
