/** OpenTelemetry as the service uses it. Its SDK is loaded only for what is exported. */
import type { Family } from "../core/metrics/family.ts";
import type { Clock } from "../system/clock.ts";
import type { LogExporter, Tracer } from "./contract.ts";
import type { TelemetrySettings } from "./settings.ts";

export interface Telemetry {
	/** Absent where no traces are exported. */
	tracer: Tracer | undefined;
	/** Absent where no logs are exported. */
	logs: LogExporter | undefined;
	/** Exports the families from now on, if metrics are exported. */
	exportMetrics(families: () => Promise<readonly Family[]>): void;
	/** Exports what waits; a collector that does not answer is waited for only so long. */
	close(): Promise<void>;
}

const CLOSE_MS = 3000;

/** `instance`: of this server, where several share a store. `onError` is called at most once a minute. */
export async function openTelemetry(
	{ traces, metrics, logs: hasLogs }: TelemetrySettings,
	q: { version: string; instance: string; clock: Clock; onError: (message: string) => void },
): Promise<Telemetry> {
	if (!traces && !metrics && !hasLogs)
		return { tracer: undefined, logs: undefined, exportMetrics: () => {}, close: async () => {} };
	const [{ serviceResource }, { reportErrors }] = await Promise.all([
		import("./resource.ts"),
		import("./error-report.ts"),
	]);
	const { version, clock } = q;
	const resource = serviceResource(q);
	reportErrors(clock, q.onError);
	const tracer = traces && (await import("./trace-exporter.ts")).openTracer(traces, { resource, version });
	const exporter = metrics && (await import("./metric-exporter.ts"));
	const now = (): number => clock.wall();
	const logs = hasLogs && (await import("./log-exporter.ts")).openLogs({ resource, version, now });
	const closes = [tracer, logs].flatMap((each) => (each ? [each.close] : []));
	return {
		tracer,
		logs,
		exportMetrics(families) {
			if (!exporter || !metrics) return;
			closes.push(exporter.exportMetrics(metrics, { resource, version, families, now }).close);
		},
		async close() {
			const over = new AbortController();
			const all = Promise.allSettled(closes.map((close) => close()));
			await Promise.race([all, clock.sleep(CLOSE_MS, over.signal)]);
			over.abort();
		},
	};
}
