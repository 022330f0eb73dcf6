/** GPUs of this machine for new workers (D27, D29). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { allocateGpus, type GpuAllocation, type GpuHolder } from "../../core/workers/gpu-allocation.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";

export function gpuAllocator(d: EngineContext & { gpus: number; registry: WorkerRegistry; endpoints: Endpoints }) {
	const holders = (): Worker[] => [...d.registry.all()].filter(({ gpus }) => gpus.length > 0);

	function holderOf(worker: Worker): GpuHolder {
		const isIdle = worker.ready && worker.held.size === 0;
		return {
			worker: worker.id,
			endpoint: worker.endpoint,
			gpus: worker.gpus,
			stopping: worker.draining,
			readyAt: worker.readyAt,
			idleSince: isIdle ? worker.idleSince : undefined,
		};
	}

	return {
		allocate: ({ id, gpusPerWorker }: Endpoint): GpuAllocation =>
			allocateGpus({
				total: d.gpus,
				needed: gpusPerWorker,
				endpoint: id,
				holders: holders().map(holderOf),
				keep: (endpoint) => (d.endpoints.has(endpoint) ? d.endpoints.get(endpoint).workersMin : 0),
				now: d.now(),
			}),
		/** Returns a sentence. */
		shortage({ id, gpusPerWorker }: Endpoint): string {
			if (gpusPerWorker > d.gpus)
				return (
					`A worker of endpoint '${id}' needs ${gpusPerWorker} of the machine's GPUs, and this ` +
					`service has ${d.gpus}: set gpus in sluice.yaml or SLUICE_GPUS, or lower gpusPerWorker.`
				);
			const taken = holders().map((worker) => `${worker.id} (${worker.gpus.join(", ")})`);
			return (
				`A worker of endpoint '${id}' needs ${gpusPerWorker} of the ${d.gpus} GPUs, and too many ` +
				`are taken: by ${taken.join(", ")}. It starts when one of these makes room.`
			);
		},
	};
}
