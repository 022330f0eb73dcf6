/** What a server takes over at its start: endpoints, workers, and the jobs they run (D16, D34). */
import type { Endpoint } from "../../core/endpoint.ts";
import { isShared } from "../../launchers/index.ts";
import { unlessFull } from "../availability/read-only-start.ts";
import type { SealKeys } from "../access/encryption.ts";
import type { Domains } from "./domains.ts";
import { useCurrentKey } from "./new-key.ts";

/**
 * Before the first request. While other servers are alive, their workers are theirs, as are those
 * that call any of them. Returns whether any are alive.
 */
export async function loadState(
	d: Domains & { sealKeys: SealKeys },
	configured: readonly Endpoint[],
): Promise<{ othersAlive: boolean }> {
	const { store, now, availability, limits, cluster, endpoints } = d;
	const { registry, hosts } = d.workers;
	await availability.prepare();
	await useCurrentKey(d);
	const othersAlive = (await cluster.othersAlive()).length > 0;
	// First of all: running jobs must not run twice because the service was unavailable (D16 Outages).
	// It was available while another server was alive. On a full disk it is done before the first write.
	if (!othersAlive) await unlessFull(store.jobs.extendAll({ now: now() }));
	await unlessFull(limits.recall());
	await endpoints.load(configured);
	await hosts.read();
	for (const row of await store.workers.list())
		if (row.server === cluster.id && !(cluster.shared && isShared(row.launcher)))
			registry.meet({ ...row, ready: false, now: now() });
	for (const { endpoint, id, worker, attempt, startedAt } of await store.jobs.running()) {
		if (othersAlive && !registry.get({ endpoint, id: worker })) continue;
		registry.meet({ id: worker, endpoint, ready: true, now: now() }).held.set(id, { attempt, handedAt: startedAt });
	}
	return { othersAlive };
}

/** Requests to stop from before this start may not have reached their workers (D18). */
export async function recallStops(
	{ store, now, workers }: Pick<Domains, "store" | "now" | "workers">,
	{ othersAlive }: { othersAlive: boolean },
): Promise<void> {
	for (const run of await store.jobs.unstopped()) {
		if (!othersAlive) workers.registry.meet({ id: run.worker, endpoint: run.endpoint, ready: true, now: now() });
		workers.stopSignals.request(run);
	}
}
