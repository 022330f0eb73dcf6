/** Which traces and metrics the OTEL_* variables ask for. */
import { expect, it } from "vitest";
import { telemetrySettings } from "./settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" };
const TRACES = { sampler: "parentbased_always_on", ratio: 1, batch: {} };

it.each([
	{},
	{ OTEL_SERVICE_NAME: "x" },
	{ ...ENDPOINT, OTEL_SDK_DISABLED: "true" },
	{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" },
])("D52: none by %j", (env) => expect(telemetrySettings(env)).toEqual({}));

it("D52: an endpoint or an exporter is enough, sampler, batches and interval follow their variables", () => {
	expect(telemetrySettings(ENDPOINT)).toEqual({ traces: TRACES, metrics: {} });
	expect(telemetrySettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c/v1/traces" })).toEqual({ traces: TRACES });
	const metrics = { OTEL_METRICS_EXPORTER: "otlp", OTEL_METRIC_EXPORT_INTERVAL: "5000" };
	expect(telemetrySettings(metrics)).toEqual({ metrics: { exportIntervalMillis: 5000 } });
	const env = { OTEL_TRACES_EXPORTER: "otlp", OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.01" };
	expect(telemetrySettings({ ...env, OTEL_BSP_SCHEDULE_DELAY: "200" })).toEqual({
		traces: { sampler: "traceidratio", ratio: 0.01, batch: { scheduledDelayMillis: 200 } },
	});
});

it("D52: logs only where a variable of their own asks for them", () => {
	expect(telemetrySettings({ OTEL_LOGS_EXPORTER: "otlp" })).toEqual({ logs: true });
	expect(telemetrySettings({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://c/v1/logs" })).toEqual({ logs: true });
	expect(telemetrySettings({ ...ENDPOINT, OTEL_LOGS_EXPORTER: "none" })).toEqual({ traces: TRACES, metrics: {} });
});

it.each([
	[{ OTEL_LOGS_EXPORTER: "console" }, 'OTEL_LOGS_EXPORTER must be otlp or none, not "console"'],
	[{ OTEL_TRACES_EXPORTER: "zipkin" }, 'must be otlp or none, not "zipkin"'],
	[{ OTEL_METRICS_EXPORTER: "prometheus" }, 'must be otlp or none, not "prometheus"'],
	[{ OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" }, "must be an http or https URL"],
	[{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, 'must be http/protobuf, not "grpc"'],
	[{ ...ENDPOINT, OTEL_TRACES_SAMPLER: "some" }, "must be one of always_on"],
	[{ ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: "2" }, "from 0 to 1"],
	[{ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: "-1" }, "OTEL_BSP_MAX_QUEUE_SIZE must be a whole number"],
	[{ ...ENDPOINT, OTEL_METRIC_EXPORT_INTERVAL: "1s" }, "OTEL_METRIC_EXPORT_INTERVAL must be a whole number"],
])("D52: %j is refused with its bound", (env, message) => {
	expect(() => telemetrySettings(env)).toThrow(message);
});
