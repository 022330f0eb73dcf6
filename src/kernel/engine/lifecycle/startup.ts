/** What a server takes over from the store at its start (D16, D34). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { ServerRow } from "../../store/contract/cluster.ts";
import { isShared } from "../../launchers/index.ts";
import { unlessFull } from "../availability/storage/free-space.ts";
import { meetStored } from "../workers/launch/take-over.ts";
import { keyIdsIn } from "../workers/worker-views.ts";
import type { Domains } from "./domains.ts";

/** Returns whether other servers are alive: they keep their workers, and those that call any of them. */
export async function loadState(d: Domains, configured: readonly Endpoint[]): Promise<boolean> {
	const { store, now, availability, limits, cluster, endpoints } = d;
	const { registry, hosts } = d.workers;
	await availability.time.prepare();
	const others = await cluster.othersAlive();
	const othersAlive = others.length > 0;
	await useCurrentKey(d, others);
	// Running jobs must not run twice because the service was unavailable (D16 Outages): it was available while another
	// server was alive. On a full disk it is done before the first write.
	if (!othersAlive) await unlessFull(store.jobs.extendAll({ now: now() }));
	await unlessFull(limits.recall());
	await endpoints.load(configured);
	await hosts.read();
	for (const row of await store.workers.list())
		if (row.server === cluster.id && !(cluster.shared && isShared(row.launcher))) meetStored(registry, row, now());
	for (const { endpoint, id, worker, attempt, startedAt } of await store.jobs.running()) {
		if (othersAlive && !registry.get({ endpoint, id: worker })) continue;
		registry.meet({ id: worker, endpoint, ready: true, now: now() }).held.set(id, { attempt, handedAt: startedAt });
	}
	return othersAlive;
}

/** Requests to stop from before this start may not have reached their workers (D18). */
export async function recallStops({ store, now, workers }: Domains, othersAlive: boolean): Promise<void> {
	for (const run of await store.jobs.unstopped()) {
		if (!othersAlive) workers.registry.meet({ id: run.worker, endpoint: run.endpoint, ready: true, now: now() });
		workers.stopSignals.request(run);
	}
}

/**
 * Brings the current key into use before anything is encrypted with it (D22, decision 0033). Throws an Error for the
 * operator while another server could not read what it encrypts.
 */
async function useCurrentKey(
	{ store, access, events, sealKeys: { checks } }: Domains,
	others: readonly ServerRow[],
): Promise<void> {
	const keyId = access.encryption.keyIds[0] ?? "";
	if (checks.opened !== checks.used) {
		for (const { url, note } of others)
			if (!keyIdsIn(note).includes(keyId))
				throw new Error(
					`The server at ${url} cannot read what this SLUICE_SECRET encrypts. First restart every server with ` +
						"this text as SLUICE_SECRET_PREVIOUS, and the earlier one as SLUICE_SECRET.",
				);
		if (!(await store.secrets.replaceCheck({ from: checks.opened, to: checks.used })))
			throw new Error("Another server has just changed the keys of the store. Start again.");
	}
	if (checks.used !== checks.alone) events.emit("secrets.earlier", {});
}
