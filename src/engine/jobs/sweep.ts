/**
 * The loops that tidy up: passed deadlines, leases of workers that do not ping, lost hints (D15,
 * D16). Being late changes no answer.
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Dispatch } from "./dispatch.ts";
import type { EndpointRegistry } from "../endpoints/endpoint-registry.ts";
import { FORGET_MS } from "../workers/worker-views.ts";
import type { WorkerViews } from "../workers/worker-views.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";

/** Jobs settled in one step, so that others get their turn. */
const SETTLE_LIMIT = 500;

/**
 * Longest pause between two looks, ms; shorter than the shortest lease, so that nothing becomes due
 * unseen.
 */
const SWEEP_MS = 1000;

/** Time between two looks at all lanes, ms: what a lost hint may cost. */
const LOOK_MS = 15_000;

/**
 * Where another server may have handed a worker what it runs: how long its leases are kept by one
 * renewal, ms, as part of the endpoint's `leaseMs`.
 */
const RENEWALS = 4;

/** Settles what is due, precisely when it is; of several servers the one that leads. */
export function sweep(d: {
	clock: Clock;
	now: () => number;
	jobs: Store["jobs"];
	events: EventBus;
	cluster: Pick<Cluster, "leads">;
}): Loop {
	return loop({
		clock: d.clock,
		retryMs: SWEEP_MS,
		onError: (error) => d.events.emit("fault", { where: "sweep", error }),
		step: async () => {
			if (!d.cluster.leads("sweep")) return SWEEP_MS;
			const now = d.now();
			const { settled, nextDueAt } = await d.jobs.settle({ now, limit: SETTLE_LIMIT });
			if (settled >= SETTLE_LIMIT) return 0;
			return Math.min(SWEEP_MS, Math.max(0, (nextDueAt ?? Infinity) - d.now()));
		},
	});
}

/**
 * Keeps leases of workers that never ping while they hold polls open, looks at all lanes, forgets
 * those who left.
 */
export function renewPolledLeases(d: {
	clock: Clock;
	now: () => number;
	store: Pick<Store, "workers">;
	events: EventBus;
	workers: WorkerRegistry;
	registry: EndpointRegistry;
	dispatch: Dispatch;
	cluster: Pick<Cluster, "shared">;
	views: Pick<WorkerViews, "pings">;
}): Loop {
	let lookedAt = 0;
	const renewedAt = new WeakMap<Worker, number>();

	/** Whether the polls of a worker that never pinged are to keep its leases now. */
	function keptByPolls(worker: Worker, now: number): boolean {
		if (worker.pinged || worker.takes + worker.stops === 0) return false;
		if (!d.cluster.shared) return worker.held.size > 0;
		const { endpoint } = worker;
		if (
			!d.registry.has(endpoint) ||
			now - (renewedAt.get(worker) ?? 0) < d.registry.get(endpoint).leaseMs / RENEWALS ||
			d.views.pings(worker)
		)
			return false;
		renewedAt.set(worker, now);
		return true;
	}

	return loop({
		clock: d.clock,
		retryMs: SWEEP_MS,
		onError: (error) => d.events.emit("fault", { where: "attending workers", error }),
		step: async () => {
			const now = d.now();
			for (const worker of d.workers.all()) {
				const polling = worker.takes + worker.stops > 0;
				if (keptByPolls(worker, now))
					await d.store.workers.renew({ endpoint: worker.endpoint, worker: worker.id, now });
				if (worker.launcher === "external" && !polling && now - worker.seenAt >= FORGET_MS)
					d.workers.forget(worker);
			}
			if (now - lookedAt >= LOOK_MS) {
				lookedAt = now;
				d.dispatch.look();
			}
			return SWEEP_MS / 2;
		},
	});
}
