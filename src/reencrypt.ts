/**
 * Encrypts stored secrets with the current key, so that the earlier one can be removed (D22, decision
 * 0033): for `sluice migrate`.
 */
import { randomBytes } from "node:crypto";
import { systemClock } from "./clock.ts";
import type { StoreAddress } from "./config/config.ts";
import { encryption, type Encryption } from "./engine/access/encryption.ts";
import { resealSettings, resealText } from "./engine/endpoints/sealed-settings.ts";
import { keyIdsIn } from "./engine/workers/worker-views.ts";
import { removePreviousKey } from "./key-file.ts";
import { type AcceptedKeys, secretKeys } from "./secret-key.ts";
import { keyCheck } from "./store/key-check.ts";
import type { Store } from "./store/contract/store.ts";
import { openStore } from "./stores.ts";

/** What was encrypted with an earlier key. */
export interface Reencrypted {
	endpoints: number;
	registries: number;
	jobs: number;
}

/**
 * Encrypts what an earlier key has encrypted with the current one, then gives the earlier one up;
 * with `check` it counts only. Can be repeated after a crash. Throws an Error for the operator if the
 * keys do not fit, or while a server encrypts with another key.
 */
export async function reencrypt({
	address,
	secret,
	previousSecret,
	check,
}: {
	address: StoreAddress;
	secret: string | undefined;
	previousSecret: string | undefined;
	check: boolean;
}): Promise<Reencrypted> {
	const database = address.kind === "sqlite" ? address.path : undefined;
	const source = { secret, previousSecret, database, random: randomBytes };
	let keys: AcceptedKeys = { ring: [new Uint8Array()], check: "", earlier: false };
	const store = await openStore({
		address,
		clock: systemClock,
		checkKey: (stored) => (keys = secretKeys(source, stored)).check,
	});
	try {
		const { ring, change = { from: keys.check, to: keys.check } } = keys;
		const sealing = encryption(ring, randomBytes);
		if (check) return await rewrite(store, sealing, false);
		await requireCurrentKey(store, sealing);
		await replaceCheck(store, change);
		const found = await rewrite(store, sealing, true);
		// One may have been started meanwhile.
		await requireCurrentKey(store, sealing);
		await replaceCheck(store, { from: change.to, to: keyCheck(ring[0], await store.identity()) });
		if (secret === undefined && database !== undefined) removePreviousKey(database);
		return found;
	} finally {
		await store.close();
	}
}

async function replaceCheck({ secrets }: Store, change: { from: string; to: string }): Promise<void> {
	if (!(await secrets.replaceCheck(change)))
		throw new Error("A server has changed the keys of the store meanwhile. Run the command again.");
}

async function requireCurrentKey({ cluster }: Store, { keyId }: Encryption): Promise<void> {
	if (!cluster) return;
	const { wall, seen } = await cluster.clock();
	const now = seen ? seen.at + Math.max(0, wall - seen.wall) : wall;
	for (const { url, note } of await cluster.servers({ now: Math.floor(now) }))
		if (keyIdsIn(note)[0] !== keyId)
			throw new Error(
				`The server at ${url} still encrypts with another key. Restart it with the new text in SLUICE_SECRET ` +
					"and the earlier one in SLUICE_SECRET_PREVIOUS, then run the command again.",
			);
}

/** Each text by compare and set: one that a server replaces meanwhile has the current key. */
async function rewrite({ secrets, ...store }: Store, sealing: Encryption, write: boolean): Promise<Reencrypted> {
	const found = { endpoints: 0, registries: 0, jobs: 0 };
	for (const { id, settings, secret } of await store.endpoints.list()) {
		const to = {
			settings: resealSettings(settings, sealing),
			secret: secret === undefined ? undefined : resealText(secret, sealing),
		};
		if (to.settings === settings && to.secret === secret) continue;
		found.endpoints += 1;
		if (write) await secrets.replaceEndpoint({ id, from: { settings, secret }, to });
	}
	for (const { registry, password: from } of await store.registries.list()) {
		const to = resealText(from, sealing);
		if (to === from) continue;
		found.registries += 1;
		if (write) await store.registries.replace({ registry, from, to });
	}
	let after: string | undefined;
	do {
		const { jobs, next } = await secrets.jobs({ after });
		for (const { endpoint, id, s3Config: from } of jobs) {
			const to = resealText(from, sealing);
			if (to === from) continue;
			found.jobs += 1;
			if (write) await secrets.replaceJob({ endpoint, id, from, to });
		}
		after = next;
	} while (after !== undefined);
	return found;
}
