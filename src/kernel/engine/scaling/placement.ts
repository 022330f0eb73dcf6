/**
 * What a module decides about places for workers: GPUs of this machine, and room on platforms that place workers
 * (D27, D28). Without one nothing is shared: each worker is started.
 */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { AssignedGpus } from "../../core/workers/gpu-part.ts";
import { usesOwnGpus } from "../../launchers/index.ts";
import type { Worker } from "../workers/worker-registry.ts";

export interface PlacementPolicy {
	/** Called first in each round of scaling: withdraws and ends what no endpoint waits for any more. */
	review(): void;
	/** Begins to give places, once the queues are counted. Returns the endpoints in the order in which they get them. */
	order<Each extends { endpoint: Endpoint }>(round: readonly Each[]): readonly Each[];
	/** Why no worker of the endpoint is started now, as a sentence. */
	heldBack(endpoint: string): string | undefined;
	/** Returns the place of the next worker, unless it has woken one. `mayEvict`: others may be stopped for it. */
	place(endpoint: Endpoint, q: { mayEvict: boolean }): Place | "woken" | Waits;
	/** The same for a worker that no job needs, on what is free. `makers`: how many of its own would have to leave. */
	placeBeside(endpoint: Endpoint): Place | (Waits & { makers(mayLeave: (worker: Worker) => boolean): number });
	/** Makes room for those `staying` that their platform cannot place. `later`: endpoints after it in this round. */
	makeRoom(endpoint: Endpoint, staying: readonly Worker[], q: { mayEvict: boolean; later: ReadonlySet<string> }): void;
	/** Called when a worker is to be stopped that has finished its jobs. True: it is put to sleep instead. */
	leave(worker: Worker): boolean;
}

/** Where a worker starts. `roomSince`: see `Worker`. */
export interface Place extends AssignedGpus {
	roomSince?: Worker["roomSince"];
}

/** `waits`: the reason as a sentence, if it is to be shown. */
interface Waits {
	waits: string | undefined;
}

/** The place of any worker for which nothing is shared. */
export const ANYWHERE: Place = { gpus: [] };

/** Whether workers get GPUs from this server. */
export function getsGpus({ gpusPerWorker, launcher }: Endpoint): boolean {
	return gpusPerWorker > 0 && usesOwnGpus(launcher);
}
