/** Traces of all starts and wakes of launched workers: they are rare, and a job that waited for one links to it. */
import { type Began, startSpans, type WorkerStart, workerSpan } from "../../core/tracing/start-spans.ts";
import type { EpochMs, WallMs } from "../../lib/time.ts";
import type { Tracer } from "../../telemetry/contract.ts";
import type { EngineContext } from "../context.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";

export type StartTraces = ReturnType<typeof startTraces>;

/** `newId` takes a number of hex digits; `wall` converts times. */
export function startTraces(
	d: Pick<EngineContext, "events" | "now"> & {
		tracer: Tracer | undefined;
		registry: WorkerRegistry;
		newId: (digits: number) => string;
		wall: (at: EpochMs) => WallMs;
	},
) {
	const { tracer, events, registry, newId, wall } = d;
	const last = new WeakMap<Worker, Began>();
	const newIds = () => ({ traceId: newId(32), spanId: newId(16) });
	const keep = (name: { endpoint: string; worker: string }, began: Began): void => {
		const worker = registry.get({ endpoint: name.endpoint, id: name.worker });
		if (worker) last.set(worker, began);
	};
	if (tracer)
		events.on("worker.woken", ({ endpoint, worker, ms }) => {
			const [ids, at] = [newIds(), d.now()];
			tracer.record(workerSpan("wake", { endpoint, worker }, { ids, wall, from: at - ms, until: at }));
			keep({ endpoint, worker }, { ...ids, at });
		});
	return {
		/** The start is over. */
		ended(start: WorkerStart): void {
			if (!tracer) return;
			const ids = newIds();
			const spans = startSpans(start, { ids, newSpanId: () => newId(16), wall });
			for (const span of spans) tracer.record(span);
			keep(start, { ...ids, at: start.endedAt });
		},
		/** The last start or wake of the worker, if it called this server then. */
		of(endpoint: string, id: string): Began | undefined {
			const worker = registry.get({ endpoint, id });
			return worker && last.get(worker);
		},
	};
}
