/** OpenTelemetry as the service uses it. Its SDK is loaded only for what is exported. */
import type { Family } from "../core/metrics/family.ts";
import type { Clock } from "../system/clock.ts";
import type { Tracer } from "./contract.ts";
import type { TelemetrySettings } from "./settings.ts";

export interface Telemetry {
	/** Absent where no traces are exported. */
	tracer: Tracer | undefined;
	/** Exports the families from now on, if metrics are exported. */
	exportMetrics(families: () => Promise<readonly Family[]>): void;
	/** Exports what waits; a collector that does not answer is waited for only so long. */
	close(): Promise<void>;
}

const CLOSE_MS = 3000;

/** `instance`: of this server, where several share a store. `onError` is called at most once a minute. */
export async function openTelemetry(
	{ traces, metrics }: TelemetrySettings,
	q: { version: string; instance: string; clock: Clock; onError: (message: string) => void },
): Promise<Telemetry> {
	if (!traces && !metrics) return { tracer: undefined, exportMetrics: () => {}, close: async () => {} };
	const [{ serviceResource }, { reportErrors }] = await Promise.all([
		import("./resource.ts"),
		import("./error-report.ts"),
	]);
	const { version, clock } = q;
	const resource = serviceResource(q);
	reportErrors(clock, q.onError);
	const tracer = traces && (await import("./trace-exporter.ts")).openTracer(traces, { resource, version });
	const exporter = metrics && (await import("./metric-exporter.ts"));
	const closes = tracer ? [tracer.close] : [];
	return {
		tracer,
		exportMetrics(families) {
			if (!exporter || !metrics) return;
			closes.push(exporter.exportMetrics(metrics, { resource, version, families, now: () => clock.wall() }).close);
		},
		async close() {
			const over = new AbortController();
			const all = Promise.allSettled(closes.map((close) => close()));
			await Promise.race([all, clock.sleep(CLOSE_MS, over.signal)]);
			over.abort();
		},
	};
}
