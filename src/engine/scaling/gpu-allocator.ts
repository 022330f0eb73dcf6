/** GPUs of this machine for new workers (D27, D29). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { allocateGpus, freeGb, type GpuAllocation, type GpuHolder } from "../../core/workers/gpu-allocation.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { Workers } from "../workers/workers.ts";

export function gpuAllocator(d: EngineContext & { gpus: number; workers: Workers; endpoints: Endpoints }) {
	const holders = (): Worker[] => [...d.workers.registry.all()].filter(({ gpus }) => gpus.length > 0);

	function holderOf(worker: Worker): GpuHolder {
		const isIdle = worker.ready && worker.held.size === 0;
		return {
			worker: worker.id,
			endpoint: worker.endpoint,
			gpus: worker.gpus,
			memoryGb: worker.gpuMemoryGb,
			stopping: worker.draining,
			readyAt: worker.readyAt,
			idleSince: isIdle ? worker.idleSince : undefined,
		};
	}

	function takenText(): string {
		const taken = holders().map(({ id, gpus, gpuMemoryGb }) => {
			const part = gpuMemoryGb === undefined ? "" : `: ${gpuMemoryGb} GB`;
			return `${id} (${gpus.join(", ")}${part})`;
		});
		return `are taken: by ${taken.join(", ")}. It starts when one of these makes room.`;
	}

	/** Returns a sentence if no GPU could ever hold such a part, or none is known to. */
	function tooSmall({ gpusPerWorker, gpuMemoryGb = 0 }: Endpoint): string | undefined {
		const sizes = d.workers.gpus.sizes();
		if (sizes.filter((size) => freeGb(size, []) >= gpuMemoryGb).length >= gpusPerWorker) return undefined;
		const known = sizes.flatMap((size) => size ?? []);
		if (known.length < sizes.length)
			return "the memory of this machine's GPUs is not known: nvidia-smi did not answer, or not yet.";
		const largest = Math.max(...known.map((size) => freeGb(size, [])));
		return `the GPUs of this machine have at most ${largest} GB for workers: lower gpuMemoryGb.`;
	}

	return {
		allocate: ({ id, gpusPerWorker, gpuMemoryGb }: Endpoint): GpuAllocation =>
			allocateGpus({
				// Whole GPUs need no reading, which starts a program.
				sizes: gpuMemoryGb === undefined ? Array.from({ length: d.gpus }, () => undefined) : d.workers.gpus.sizes(),
				needed: gpusPerWorker,
				memoryGb: gpuMemoryGb,
				endpoint: id,
				holders: holders().map(holderOf),
				keep: (endpoint) => (d.endpoints.has(endpoint) ? d.endpoints.get(endpoint).workersMin : 0),
				now: d.now(),
			}),
		/** Returns a sentence. */
		shortage(endpoint: Endpoint): string {
			const { id, gpusPerWorker, gpuMemoryGb } = endpoint;
			const needs = `A worker of endpoint '${id}' needs`;
			if (gpusPerWorker > d.gpus)
				return (
					`${needs} ${gpusPerWorker} of the machine's GPUs, and this ` +
					`service has ${d.gpus}: set gpus in sluice.yaml or SLUICE_GPUS, or lower gpusPerWorker.`
				);
			if (gpuMemoryGb === undefined)
				return `${needs} ${gpusPerWorker} of the ${d.gpus} GPUs, and too many ${takenText()}`;
			const of = gpusPerWorker === 1 ? "one GPU" : `each of ${gpusPerWorker} GPUs`;
			const why = tooSmall(endpoint) ?? `too many ${takenText()}`;
			return `${needs} ${gpuMemoryGb} GB of ${of}, and ${why}`;
		},
	};
}
