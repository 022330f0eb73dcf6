/** GPUs of this machine for new workers, and why a worker gets none (D27, D29). */
import type { Endpoint } from "../../core/endpoint.ts";
import type { EpochMs } from "../../core/time.ts";
import { allocateGpus, type GpuAllocation, type GpuHolder } from "../../core/workers/gpu-allocation.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";

export interface GpuAllocator {
	/** GPUs for a new worker of the endpoint, or the workers to evict first. */
	allocate(endpoint: Endpoint): GpuAllocation;
	/** Why there are none, as a sentence. */
	shortage(endpoint: Endpoint): string;
}

export function gpuAllocator(d: {
	/** GPUs of this machine. */
	total: number;
	now: () => EpochMs;
	registry: WorkerRegistry;
	endpoints: Pick<Endpoints, "has" | "get">;
}): GpuAllocator {
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
		allocate: ({ id, gpusPerWorker }) =>
			allocateGpus({
				total: d.total,
				needed: gpusPerWorker,
				endpoint: id,
				holders: holders().map(holderOf),
				keep: (endpoint) => (d.endpoints.has(endpoint) ? d.endpoints.get(endpoint).workersMin : 0),
				now: d.now(),
			}),
		shortage({ id, gpusPerWorker }) {
			if (gpusPerWorker > d.total)
				return (
					`A worker of endpoint '${id}' needs ${gpusPerWorker} of the machine's GPUs, and this ` +
					`service has ${d.total}: set gpus in sluice.yaml or SLUICE_GPUS, or lower gpusPerWorker.`
				);
			const taken = holders().map((worker) => `${worker.id} (${worker.gpus.join(", ")})`);
			return (
				`A worker of endpoint '${id}' needs ${gpusPerWorker} of the ${d.total} GPUs, and too many ` +
				`are taken: by ${taken.join(", ")}. It starts when one of these makes room.`
			);
		},
	};
}
