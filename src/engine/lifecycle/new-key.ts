/** A start with another key for stored secrets (D22, decision 0033). */
import type { SealKeys } from "../access/encryption.ts";
import { keyIdsIn } from "../workers/worker-views.ts";
import type { Domains } from "./domains.ts";

/**
 * Brings the current key into use, before anything is encrypted with it. Throws an Error for the
 * operator while another server could not read what it encrypts.
 */
export async function useCurrentKey({
	store,
	cluster,
	access: { encryption },
	events,
	sealKeys: { change, earlier },
}: Pick<Domains, "store" | "cluster" | "access" | "events"> & { sealKeys: SealKeys }): Promise<void> {
	if (change) {
		for (const { url, note } of await cluster.othersAlive())
			if (!keyIdsIn(note).includes(encryption.keyId))
				throw new Error(
					`The server at ${url} cannot read what this SLUICE_SECRET encrypts. First restart every server with ` +
						"this text as SLUICE_SECRET_PREVIOUS, beside the SLUICE_SECRET of until now.",
				);
		if (!(await store.secrets.replaceCheck(change)))
			throw new Error("Another server has just changed the keys of the store. Start again.");
	}
	if (earlier) events.emit("secrets.earlier", {});
}
