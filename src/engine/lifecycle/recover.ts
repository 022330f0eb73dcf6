/** What a server finds at its start: endpoints, workers, and the jobs they run (D16, D34). */
import type { Endpoint } from "../../core/endpoint.ts";
import type { EventBus } from "../../events.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EndpointRegistry } from "../endpoints/endpoint-registry.ts";
import type { StopSignals } from "../workers/stop-signals.ts";
import type { WorkerRegistry } from "../workers/worker-registry.ts";

interface Deps {
	store: Pick<Store, "jobs" | "workers">;
	now: () => number;
	events: EventBus;
	registry: EndpointRegistry;
	workers: WorkerRegistry;
	cluster: Pick<Cluster, "id" | "othersLive">;
}

/**
 * Before the first request. While other servers live, workers that they launched, or that call any
 * of them, are theirs to tell of. Answers whether any do.
 */
export async function recover(
	{ store, now, events, registry, workers, cluster }: Deps,
	endpoints: readonly Endpoint[],
): Promise<{ others: boolean }> {
	const others = await cluster.othersLive();
	// Before anything else may settle: live work must not run twice because the service was away (D16
	// Outages). It was not while another server lived.
	if (!others) await store.jobs.extendAll({ now: now() });
	await registry.load((id, fault) =>
		events.emit("fault", { where: `endpoint ${id} in the store`, error: fault }),
	);
	for (const endpoint of endpoints) await registry.put(endpoint, now());
	for (const row of await store.workers.list())
		if (row.server === cluster.id) workers.meet({ ...row, ready: false, now: now() });
	for (const { endpoint, id, worker, attempt, startedAt } of await store.jobs.running()) {
		if (others && !workers.get({ endpoint, id: worker })) continue;
		workers
			.meet({ id: worker, endpoint, ready: true, now: now() })
			.held.set(id, { attempt, handedAt: startedAt });
	}
	return { others };
}

/** A stop that was asked for before this start may not have reached its worker (D18). */
export async function recallStops({
	store,
	now,
	workers,
	others,
	stopping,
}: Pick<Deps, "store" | "now" | "workers"> & {
	others: boolean;
	stopping: StopSignals;
}): Promise<void> {
	for (const run of await store.jobs.unstopped()) {
		if (!others) workers.meet({ id: run.worker, endpoint: run.endpoint, ready: true, now: now() });
		stopping.request(run);
	}
}
