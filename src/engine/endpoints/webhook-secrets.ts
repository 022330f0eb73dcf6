/** The secrets that sign webhooks, one per endpoint, stored encrypted (D21). */
import type { Random } from "../../ids.ts";
import type { Encryption } from "../access/encryption.ts";

/** Bytes of a generated secret; Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32;

/** A secret for signing; `encrypted`: it was stored under another `SLUICE_SECRET`. */
export type WebhookSecret =
	| { ok: true; text: string }
	| { ok: false; why: "missing" | "encrypted" };

/** A new secret: `whsec_` + base64. */
export function newWebhookSecret(random: Random): string {
	return `whsec_${Buffer.from(random(SECRET_BYTES)).toString("base64")}`;
}

export function decryptSecret(
	encryption: Encryption,
	encrypted: string | undefined,
): WebhookSecret {
	if (encrypted === undefined) return { ok: false, why: "missing" };
	const decrypted = encryption.decrypt(encrypted);
	return decrypted.ok ? decrypted : { ok: false, why: "encrypted" };
}
