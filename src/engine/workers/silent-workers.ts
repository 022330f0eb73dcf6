/**
 * Kills launched workers that do not answer: stopped, frozen, or deadlocked (D16). Their jobs are
 * lost after a lease; only the end of the process frees the place and the fence of the attempt.
 */
import type { EpochMs } from "../../core/time.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { EngineContext } from "../context.ts";
import type { WorkerLauncher } from "./launch.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** Leases without a sign: the first one loses the jobs, the second one is for its return. */
const LEASES = 2;

/**
 * Maximum time between two checks that counts as silence of workers, in pauses of the checks: in a
 * longer one the service did not run, or learned after such a time how late it is.
 */
const PAUSES = 2;

interface Deps extends Pick<EngineContext, "now" | "events" | "background"> {
	registry: WorkerRegistry;
	launcher: Pick<WorkerLauncher, "stop" | "isStopping">;
	endpoints: Pick<Endpoints, "has" | "get">;
	/** Pause between two checks, ms. */
	checkMs: number;
}

/** Returns the check, to be repeated. */
export function silentWorkers(d: Deps): () => void {
	/** Signs may have been lost before. */
	let heardSince: EpochMs = -Infinity;
	let checkedAt: EpochMs = -Infinity;
	const heardFromNow = (): void => void (heardSince = d.now());
	d.events.on("store.back", heardFromNow);

	function silentMs(worker: Worker): number {
		// Of one that has pinged the pings are the sign: an open poll is kept by its system.
		const isPolling = !worker.pinged && worker.takes + worker.stops > 0;
		return isPolling ? 0 : d.now() - Math.max(worker.seenAt, worker.pollEndedAt ?? -Infinity, heardSince);
	}

	function kill(worker: Worker, ms: number): void {
		const why = `it did not answer for ${Math.round(ms / 1000)} s; it is killed`;
		d.background.run(`killing ${worker.id}`, d.launcher.stop(worker, { why, graceMs: 0, code: "unhealthy" }));
	}

	return () => {
		// Not by an event: this may run before anything else that notices the time.
		if (d.now() - checkedAt > PAUSES * d.checkMs) heardFromNow();
		checkedAt = d.now();
		for (const worker of d.registry.all()) {
			// Before its first call the start timeout applies.
			if (!worker.managed || !worker.ready || d.launcher.isStopping(worker)) continue;
			if (!d.endpoints.has(worker.endpoint)) continue;
			const ms = silentMs(worker);
			if (ms >= LEASES * d.endpoints.get(worker.endpoint).leaseMs) kill(worker, ms);
		}
	};
}
