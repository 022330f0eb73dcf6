/** Encrypts stored secrets with the current key, so that the earlier one can be removed (D22, decision 0033). */
import type { Random } from "../../lib/ids.ts";
import type { Store } from "../../store/contract/store.ts";
import { encryption, type Encryption, type SealKeys } from "../../secrets/encryption.ts";
import { resealEndpoint, resealText } from "../endpoints/sealed-settings.ts";
import { resealHandle } from "../workers/launch/shown-text.ts";
import { keyIdsIn } from "../workers/worker-views.ts";

export interface Reencrypted {
	endpoints: number;
	releases: number;
	registries: number;
	/** Objects of the management API. */
	resources: number;
	jobs: number;
	/** Records of launched workers. */
	workers: number;
}

/**
 * With `check` it counts only. Can be repeated after a crash. Throws an Error for the operator while a server encrypts
 * with another key.
 */
export async function reencrypt(
	store: Store,
	{ sealKeys: { ring, checks }, random, check }: { sealKeys: SealKeys; random: Random; check: boolean },
): Promise<Reencrypted> {
	const sealing = encryption(ring, random);
	const replaceCheck = async (from: string, to: string): Promise<void> => {
		if (!(await store.secrets.replaceCheck({ from, to })))
			throw new Error("A server has changed the keys of the store meanwhile. Run the command again.");
	};
	if (check) return await rewrite(store, sealing, false);
	await requireCurrentKey(store, sealing);
	await replaceCheck(checks.opened, checks.used);
	const found = await rewrite(store, sealing, true);
	// A server may have been started meanwhile.
	await requireCurrentKey(store, sealing);
	await replaceCheck(checks.used, checks.alone);
	return found;
}

async function requireCurrentKey({ cluster }: Store, { keyIds }: Encryption): Promise<void> {
	if (!cluster) return;
	const { wall, seen } = await cluster.clock();
	const now = seen ? seen.at + Math.max(0, wall - seen.wall) : wall;
	for (const { url, note } of await cluster.servers({ now: Math.floor(now) }))
		if (keyIdsIn(note)[0] !== keyIds[0])
			throw new Error(
				`The server at ${url} still encrypts with another key. Restart it with the new SLUICE_SECRET and the ` +
					"earlier one as SLUICE_SECRET_PREVIOUS, then run the command again.",
			);
}

/** Compares and sets each text: one that a server replaces meanwhile has the current key. */
async function rewrite({ secrets, ...store }: Store, sealing: Encryption, write: boolean): Promise<Reencrypted> {
	const found = { endpoints: 0, releases: 0, registries: 0, resources: 0, jobs: 0, workers: 0 };
	for (const { endpoint, version } of await store.releases.heads()) {
		const { settings: from } = (await store.releases.find({ endpoint, version })) ?? {};
		const resealed = from === undefined ? undefined : resealEndpoint({ settings: from }, sealing);
		if (from === undefined || !resealed) continue;
		found.releases += 1;
		if (write) await store.releases.replace({ endpoint, version, from, to: resealed.settings });
	}
	for (const { id, settings, secret } of await store.endpoints.list()) {
		const to = resealEndpoint({ settings, secret }, sealing);
		if (!to) continue;
		found.endpoints += 1;
		if (write) await secrets.replaceEndpoint({ id, from: { settings, secret }, to });
	}
	async function renew(
		kind: keyof Reencrypted,
		from: string,
		replace: (to: string) => Promise<unknown>,
		reseal = resealText,
	) {
		const to = reseal(from, sealing);
		if (to === from) return;
		found[kind] += 1;
		if (write) await replace(to);
	}
	for (const { registry, password: from } of await store.registries.list())
		await renew("registries", from, (to) => store.registries.replace({ registry, from, to }));
	for (const kind of ["template", "registry", "secret"] as const)
		for (const { id } of await store.resources.list({ kind })) {
			const row = await store.resources.find({ kind, id });
			await renew("resources", row?.sealed ?? "", async (sealed) => {
				// Grows, so that a server which read the row before does not store the earlier text again.
				const changed = row && { ...row, sealed, updatedAt: row.updatedAt + 1 };
				if (changed) await store.resources.update({ row: changed, from: row.updatedAt });
			});
		}
	for (const { id, handle: from } of await store.workers.list())
		if (from !== undefined)
			await renew("workers", from, (to) => store.workers.replaceHandle({ id, from, to }), resealHandle);
	for (let after: string | undefined, more = true; more; more = after !== undefined) {
		const { jobs, next } = await secrets.jobs({ after });
		for (const { endpoint, id, s3Config: from } of jobs)
			await renew("jobs", from, (to) => secrets.replaceJob({ endpoint, id, from, to }));
		after = next;
	}
	return found;
}
