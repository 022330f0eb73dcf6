/**
 * Replaces launched workers whose endpoint has another image, command or environment than they were
 * started with: idle ones at once, busy ones after their job.
 */
import type { Registry } from "./registry.ts";
import { launchHash } from "./worker-spec.ts";
import type { Worker, Workers } from "./workers.ts";

/** Retires the workers that were started with other settings. */
export function replaceChanged(d: {
	registry: Registry;
	workers: Workers;
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
