/**
 * Replaces launched workers whose endpoint has another image, command or environment than they were
 * started with: idle ones at once, busy ones after their job.
 */
import type { EndpointRegistry } from "../endpoints/endpoint-registry.ts";
import { launchHash } from "./worker-spec.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** Retires the workers that were started with other settings. */
export function replaceChanged(d: {
	registry: EndpointRegistry;
	workers: WorkerRegistry;
	retire: (worker: Worker, why: string) => void;
}): void {
	for (const { endpoint } of d.registry.all()) {
		const today = launchHash(endpoint);
		for (const worker of [...d.workers.of(endpoint.id)]) {
			if (worker.launchedAs !== undefined && worker.launchedAs !== today)
				d.retire(worker, "its endpoint has another launcher or environment now");
		}
	}
}
