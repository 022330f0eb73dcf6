/**
 * What workers did with their GPUs since the start of this server, for `/metrics` (D40): seconds by state, workers that
 * were stopped to make room, times of swaps. In memory; only workers that this server launched.
 */
import { newHistogram, observe } from "../../kernel/lib/histogram.ts";
import { record } from "../../kernel/lib/record.ts";
import { GPU_USES, type GpuTotals } from "../../kernel/core/workers/gpus.ts";
import { loop } from "../../kernel/system/loop.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import type { Endpoints } from "../../kernel/engine/endpoints/endpoints.ts";
import type { HeldGpu } from "../../kernel/engine/workers/gpus.ts";
import { useOf, type Worker, type WorkerRegistry } from "../../kernel/engine/workers/worker-registry.ts";
import { gpuHistory, type GpuSpan } from "./gpu-history.ts";

const SAMPLE_MS = 1000;

interface Deps extends EngineContext {
	endpoints: Endpoints;
	registry: WorkerRegistry;
	held: () => readonly HeldGpu[];
}

export type GpuUse = ReturnType<typeof gpuUse>;

export function gpuUse({ clock, events, now, endpoints, registry, held }: Deps) {
	const totals = new Map<string, GpuTotals>();
	const history = gpuHistory({ now, held });
	let sampledAt = now();

	function totalsOf(endpoint: string): GpuTotals {
		let found = totals.get(endpoint);
		if (!found) {
			found = { ms: record(GPU_USES, () => 0), madeRoom: { idle: 0, busy: 0 }, swaps: newHistogram() };
			totals.set(endpoint, found);
		}
		return found;
	}

	/** Returns 0 for a worker that sleeps, or that its platform has not placed yet. */
	function gpusOf({ managed, endpoint, notice, sleep, gpus }: Worker): number {
		if (!managed || notice?.state === "waiting" || sleep?.state === "asleep" || !endpoints.has(endpoint)) return 0;
		return gpus.length || endpoints.get(endpoint).gpusPerWorker;
	}

	/** The time since the last call counts for the present states. */
	function sample(): void {
		const at = now();
		const elapsed = Math.max(0, at - sampledAt);
		sampledAt = at;
		for (const worker of registry.all()) {
			const gpus = gpusOf(worker);
			if (gpus > 0) totalsOf(worker.endpoint).ms[useOf(worker)] += gpus * elapsed;
		}
		history.sample();
	}

	events.on("room.made", ({ endpoint, was }) => void (totalsOf(endpoint).madeRoom[was] += 1));
	events.on(["worker.ready", "worker.woken"], ({ endpoint, worker: id }) => {
		const { roomSince } = registry.get({ endpoint, id }) ?? {};
		if (roomSince !== undefined) observe(totalsOf(endpoint).swaps, Math.max(0, now() - roomSince));
	});
	events.on("endpoint.removed", ({ endpoint }) => void totals.delete(endpoint));

	return {
		/** Returns them by endpoint; those that never had a GPU are missing. */
		totals(): ReadonlyMap<string, GpuTotals> {
			sample();
			return totals;
		},
		/** Returns who had the GPU in the last hour, until now. */
		history(gpu: Omit<HeldGpu, "worker">): readonly GpuSpan[] {
			sample();
			return history.of(gpu);
		},
		service: loop({
			clock,
			retryMs: SAMPLE_MS,
			onError: (error) => events.emit("fault", { where: "sampling GPUs", error }),
			step: async () => {
				sample();
				return SAMPLE_MS;
			},
		}),
	};
}
