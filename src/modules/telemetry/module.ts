/** Traces: what the module is to the kernel (D52). */
import type { ServiceModule } from "../module.ts";
import { EVENTS } from "./events.ts";
import type { TraceSettings } from "./settings.ts";

export const telemetry: ServiceModule<TraceSettings> = {
	name: "telemetry",
	fromVariables: {
		prefix: "OTEL_",
		read: async (env) => (await import("./settings.ts")).traceSettings(env),
	},
	events: EVENTS,
	open: async (kernel, settings) => (await import("./open.ts")).openTelemetry(kernel, settings!),
};
