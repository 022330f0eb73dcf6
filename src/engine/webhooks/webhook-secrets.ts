/** The secrets that sign webhooks, one per endpoint, sealed at rest (D21). */
import type { Random } from "../../ids.ts";
import type { EndpointRegistry } from "../endpoints/endpoint-registry.ts";
import type { Encryption } from "../access/encryption.ts";

/** Bytes of a secret made here; Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32;

/** Opens and replaces secrets. */
export interface WebhookSecrets {
	/**
	 * The secret of an endpoint, also of one that is being deleted. `sealed`: it was kept under
	 * another `SLUICE_SECRET`.
	 */
	of(endpoint: string): { ok: true; text: string } | { ok: false; why: "missing" | "sealed" };
	/**
	 * Makes a new one, for every delivery from now on, and tells it this once. One in `sluice.yaml`
	 * wins again at the next start. Throws `endpoint_not_found`.
	 */
	renew(endpoint: string): Promise<string>;
}

/** A new secret: `whsec_` + base64. */
export function newWebhookSecret(random: Random): string {
	return `whsec_${Buffer.from(random(SECRET_BYTES)).toString("base64")}`;
}

/** Secrets over the registry, which keeps them. */
export function webhookSecrets({
	registry,
	seal,
	random,
	now,
}: {
	registry: EndpointRegistry;
	seal: Encryption;
	random: Random;
	now: () => number;
}): WebhookSecrets {
	return {
		of(endpoint) {
			const sealed = registry.sealedSecret(endpoint);
			if (sealed === undefined) return { ok: false, why: "missing" };
			const opened = seal.open(sealed);
			return opened.ok ? opened : { ok: false, why: "sealed" };
		},
		async renew(endpoint) {
			const webhookSecret = newWebhookSecret(random);
			await registry.put({ ...registry.get(endpoint), webhookSecret }, now());
			return webhookSecret;
		},
	};
}
