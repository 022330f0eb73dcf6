/** Tracing with OpenTelemetry, whose SDK is loaded only if traces are exported. */
import type { Clock } from "../system/clock.ts";
import type { Tracer } from "./contract.ts";
import type { TraceSettings } from "./settings.ts";

/** Maximum wait for the collector when the service stops, ms. */
const CLOSE_MS = 3000;

/** `instance`: of this server, where several share a store. `onError` is called at most once a minute. */
export async function openTelemetry(
	settings: TraceSettings,
	q: { version: string; instance: string; clock: Clock; onError: (message: string) => void },
): Promise<Tracer> {
	const [{ openTracer }, { reportErrors }] = await Promise.all([
		import("./trace-exporter.ts"),
		import("./error-report.ts"),
	]);
	reportErrors(q.clock, q.onError);
	const tracer = openTracer(settings, q);
	return {
		...tracer,
		async close() {
			const over = new AbortController();
			// A span that could not be exported stops nothing; the SDK has reported it.
			await Promise.race([tracer.close().catch(() => {}), q.clock.sleep(CLOSE_MS, over.signal)]);
			over.abort();
		},
	};
}
