/** Traces of all starts and wakes of launched workers: they are rare, and a job that waited for one links to it. */
import type { Began } from "../../core/tracing/job-spans.ts";
import { startSpans, type WorkerStart } from "../../core/tracing/start-spans.ts";
import type { EpochMs, WallMs } from "../../lib/time.ts";
import type { Tracer } from "../../telemetry/contract.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";

/** `newId` takes a number of hex digits; `wall` converts times. */
export function startTraces(d: {
	tracer: Tracer | undefined;
	registry: WorkerRegistry;
	newId: (digits: number) => string;
	wall: (at: EpochMs) => WallMs;
}) {
	const last = new WeakMap<Worker, Began>();
	return {
		/** The start is over, or the wake. */
		ended(start: WorkerStart): void {
			if (!d.tracer) return;
			const ids = { traceId: d.newId(32), spanId: d.newId(16) };
			for (const span of startSpans(start, { ...ids, newSpanId: () => d.newId(16), wall: d.wall }))
				d.tracer.record(span);
			const worker = d.registry.get({ endpoint: start.endpoint, id: start.worker });
			if (worker) last.set(worker, { ...ids, at: start.phases[0][2] });
		},
		/** The last start or wake of a worker of this server. */
		of(name: { endpoint: string; id: string }): Began | undefined {
			const worker = d.registry.get(name);
			return worker && last.get(worker);
		},
	};
}
