/** Open polls keep the leases of a worker that never pings (D16). */
import type { EpochMs } from "../../../lib/time.ts";
import { loop, type Loop } from "../../../system/loop.ts";
import type { Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";

/** Interval of the renewals, ms, well within the shortest lease. */
const CHECK_MS = 500;

/** Time between two claims for all parked polls, ms: the longest delay by a lost signal. */
const CLAIM_MS = 15_000;

/** Renewals in one `leaseMs` if another server may have sent jobs to the worker. */
const RENEWALS_PER_LEASE = 4;

export function renewPolledLeases(d: JobDeps): Loop {
	let claimedAt: EpochMs = 0;
	const renewedAt = new WeakMap<Worker, EpochMs>();

	function isDue(worker: Worker, now: EpochMs): boolean {
		if (worker.pinged || worker.takes + worker.stops === 0) return false;
		if (!d.cluster.shared) return worker.held.size > 0;
		const { endpoint } = worker;
		if (!d.endpoints.has(endpoint)) return false;
		const pauseMs = d.endpoints.get(endpoint).leaseMs / RENEWALS_PER_LEASE;
		if (now - (renewedAt.get(worker) ?? 0) < pauseMs || d.workers.allViews.pings(worker)) return false;
		renewedAt.set(worker, now);
		return true;
	}

	return loop({
		clock: d.clock,
		retryMs: 2 * CHECK_MS,
		onError: (error) => d.events.emit("fault", { where: "renewing leases", error }),
		step: async () => {
			const now = d.now();
			for (const worker of d.workers.registry.all()) {
				const { endpoint, id } = worker;
				if (isDue(worker, now)) await d.store.workers.renew({ endpoint, worker: id, now });
			}
			if (now - claimedAt >= CLAIM_MS) {
				claimedAt = now;
				d.dispatch.checkAll();
			}
			return CHECK_MS;
		},
	});
}
