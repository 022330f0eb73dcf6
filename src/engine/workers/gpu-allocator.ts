/**
 * GPUs of this machine in the hands of workers: what `core/slots.ts` is asked, and why a worker
 * gets none (D27, D29).
 */
import type { Endpoint } from "../../core/endpoint.ts";
import type { GpuHolder, GpuAllocation } from "../../core/workers/gpu-allocation.ts";
import { allocateGpus } from "../../core/workers/gpu-allocation.ts";
import type { EndpointRegistry } from "../endpoints/endpoint-registry.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** Asks for GPUs. */
export interface GpuAllocator {
	/** GPUs for a new worker of the endpoint, or the workers that must go first. */
	ask(endpoint: Endpoint): GpuAllocation;
	/** Why there are none, as a sentence. */
	why(endpoint: Endpoint): string;
}

/** Seats over `total` GPUs. */
export function gpuAllocator(d: {
	total: number;
	now: () => number;
	workers: WorkerRegistry;
	registry: EndpointRegistry;
}): GpuAllocator {
	const holders = (): Worker[] => [...d.workers.all()].filter(({ gpus }) => gpus.length > 0);

	function seatOf(worker: Worker): GpuHolder {
		const idle = worker.ready && worker.held.size === 0;
		return {
			worker: worker.id,
			endpoint: worker.endpoint,
			gpus: worker.gpus,
			stopping: worker.draining,
			readyAt: worker.readyAt,
			idleSince: idle ? worker.idleSince : undefined,
		};
	}

	return {
		ask: ({ id, gpusPerWorker }) =>
			allocateGpus({
				total: d.total,
				needed: gpusPerWorker,
				endpoint: id,
				holders: holders().map(seatOf),
				keep: (endpoint) => (d.registry.has(endpoint) ? d.registry.get(endpoint).workersMin : 0),
				now: d.now(),
			}),
		why({ id, gpusPerWorker }) {
			if (gpusPerWorker > d.total)
				return `A worker of endpoint '${id}' needs ${gpusPerWorker} of the machine's GPUs, and this service has ${d.total}: set gpus in sluice.yaml or SLUICE_GPUS, or lower gpusPerWorker.`;
			const taken = holders().map((worker) => `${worker.id} (${worker.gpus.join(", ")})`);
			return `A worker of endpoint '${id}' needs ${gpusPerWorker} of the ${d.total} GPUs, and too many are taken: by ${taken.join(", ")}. It starts when one of these makes room.`;
		},
	};
}
