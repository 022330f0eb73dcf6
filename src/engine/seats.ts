/**
 * GPUs of this machine in the hands of workers: what `core/slots.ts` is asked, and why a worker
 * gets none (D27, D29).
 */
import type { Endpoint } from "../core/endpoint.ts";
import type { Seat, Slots } from "../core/slots.ts";
import { assignSlots } from "../core/slots.ts";
import type { Registry } from "./registry.ts";
import type { Worker, Workers } from "./workers.ts";

/** Asks for GPUs. */
export interface Seats {
	/** GPUs for a new worker of the endpoint, or the workers that must go first. */
	ask(endpoint: Endpoint): Slots;
	/** Why there are none, as a sentence. */
	why(endpoint: Endpoint): string;
}

/** Seats over `total` GPUs. */
export function seats(d: {
	total: number;
	now: () => number;
	workers: Workers;
	registry: Registry;
}): Seats {
	const holders = (): Worker[] => [...d.workers.all()].filter(({ gpus }) => gpus.length > 0);

	function seatOf(worker: Worker): Seat {
		const idle = worker.ready && worker.held.size === 0;
		return {
			worker: worker.id,
			endpoint: worker.endpoint,
			gpus: worker.gpus,
			leaving: worker.draining,
			readyAt: worker.readyAt,
			idleSince: idle ? worker.idleSince : undefined,
		};
	}

	return {
		ask: ({ id, gpusPerWorker }) =>
			assignSlots({
				total: d.total,
				needed: gpusPerWorker,
				endpoint: id,
				seats: holders().map(seatOf),
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
