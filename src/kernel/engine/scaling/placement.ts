/**
 * What a module decides about places for workers: GPUs of this machine, and room on platforms that place workers
 * (D27, D28). Without one, workers start at once; those that need GPUs of this machine never start.
 */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { AssignedGpus } from "../../core/workers/gpu-part.ts";
import { usesOwnGpus } from "../../launchers/index.ts";
import type { Worker } from "../workers/worker-registry.ts";

export interface PlacementPolicy {
	/** Called first in each round of scaling: withdraws evictions for which no endpoint waits, ends surplus sleepers. */
	review(): void;
	/** Called once the queues are counted. Returns the endpoints in the order in which they get places. */
	order<Each extends { endpoint: Endpoint }>(round: readonly Each[]): readonly Each[];
	/** Returns why no worker of the endpoint may start now, as a sentence; undefined: one may. */
	heldBack(endpoint: string): string | undefined;
	/** Returns the place of the next worker, or wakes one instead. `mayEvict`: others may be stopped for it. */
	place(endpoint: Endpoint, q: { mayEvict: boolean }): Place | "woken" | Waits;
	/**
	 * Like `place`, for a worker in addition to those that jobs need (a rollout): takes only what is free. `makers`: how
	 * many of the endpoint's own workers would have to leave for it.
	 */
	placeBeside(endpoint: Endpoint): Place | (Waits & { makers(mayLeave: (worker: Worker) => boolean): number });
	/** Makes room for those `staying` that their platform cannot place. `later`: endpoints after it in this round. */
	makeRoom(endpoint: Endpoint, staying: readonly Worker[], q: { mayEvict: boolean; later: ReadonlySet<string> }): void;
	/** Called before a worker that has finished its jobs is stopped. True: it is put to sleep instead. */
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

/** The place of every worker to which this server assigns no GPUs. */
export const ANYWHERE: Place = { gpus: [] };

/** Whether workers get GPUs from this server. */
export function getsGpus({ gpusPerWorker, launcher }: Endpoint): boolean {
	return gpusPerWorker > 0 && usesOwnGpus(launcher);
}
