/**
 * Kills launched workers that do not answer (D16). Their jobs are lost after a lease; only the end of the process frees
 * the place and the fence of the attempt.
 */
import type { EpochMs } from "../../lib/time.ts";
import type { WorkerLauncher } from "./launch/launch.ts";
import type { Worker } from "./worker-registry.ts";
import type { WorkersContext } from "./workers-context.ts";

/** Leases without a sign: the first loses the jobs, the second is for its return. */
const LEASES = 2;

/** A longer time between two checks, in pauses of the checks, is no silence of workers: the service did not run. */
const PAUSES = 2;

export function silentWorkers(d: WorkersContext & { launcher: WorkerLauncher; checkMs: number }): () => void {
	/** Signs may have been lost before. */
	let heardSince: EpochMs = -Infinity;
	let checkedAt: EpochMs = -Infinity;
	const heardFromNow = (): void => void (heardSince = d.now());
	d.events.on("store.back", heardFromNow);

	function silentMs(worker: Worker): number {
		// The system keeps the polls of a frozen worker open: once a worker has pinged, only pings are a sign.
		const isPolling = !worker.pinged && worker.takes + worker.stops > 0;
		return isPolling ? 0 : d.now() - Math.max(worker.seenAt, worker.pollEndedAt ?? -Infinity, heardSince);
	}

	function kill(worker: Worker, ms: number): void {
		const why = `it did not answer for ${Math.round(ms / 1000)} s; it is killed`;
		d.background.run(`killing ${worker.id}`, d.launcher.stop(worker, { why, graceMs: 0, code: "unhealthy" }));
	}

	return () => {
		// Not by an event: this may run before anything else notices the time.
		if (d.now() - checkedAt > PAUSES * d.checkMs) heardFromNow();
		checkedAt = d.now();
		for (const worker of d.registry.all()) {
			// Before its first call the start timeout applies. One that sleeps may be frozen.
			if (!worker.managed || !worker.ready || worker.sleep || d.launcher.isStopping(worker)) continue;
			if (!d.endpoints.has(worker.endpoint)) continue;
			const ms = silentMs(worker);
			if (ms >= LEASES * d.endpoints.get(worker.endpoint).leaseMs) kill(worker, ms);
		}
	};
}
