/** Opens traces: from then on the kernel asks the hooks, and ends of jobs and starts of workers are recorded (D52). */
import { busOf } from "../../kernel/events.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { version } from "../../kernel/version.ts";
import { reportErrors } from "./error-report.ts";
import type { EVENTS } from "./events.ts";
import type { TraceSettings } from "./settings.ts";
import { openTracer } from "./trace-exporter.ts";
import { createTraces } from "./traces.ts";

/** Maximum wait for the collector when the service stops, ms. */
const CLOSE_MS = 3000;

export async function openTelemetry(kernel: Kernel, settings: TraceSettings): Promise<OpenModule> {
	const { clock, instance } = kernel;
	const events = busOf<typeof EVENTS>(kernel.events);
	reportErrors(clock, (reason) => events.emit("telemetry.failed", { reason }));
	const tracer = openTracer(settings, { version, instance });
	return {
		hooks: { traces: createTraces({ ...kernel, tracer, registry: kernel.workers.registry }) },
		async close() {
			const over = new AbortController();
			// A span that could not be exported stops nothing; the SDK has reported it.
			await Promise.race([tracer.close().catch(() => {}), clock.sleep(CLOSE_MS, over.signal)]);
			over.abort();
		},
	};
}
