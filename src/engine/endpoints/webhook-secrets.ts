/** The secrets that sign webhooks, one per endpoint, stored encrypted (D21). */
import type { EpochMs } from "../../core/time.ts";
import type { Random } from "../../ids.ts";
import type { Encryption } from "../access/encryption.ts";

/** Bytes of a generated secret; Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32;

/** How long the secret before the last change signs too, ms. */
export const SECRET_OVERLAP_MS = 86_400_000;

/** A replaced secret, which signs beside the new one for some time. */
export interface FormerSecret {
	text: string;
	until: EpochMs;
}

/** A secret for signing; `encrypted`: it was stored under another `SLUICE_SECRET`. */
export type WebhookSecret =
	| { ok: true; text: string; former?: FormerSecret | undefined }
	| { ok: false; why: "missing" | "encrypted" };

/** A new secret: `whsec_` + base64. */
export function newWebhookSecret(random: Random): string {
	return `whsec_${Buffer.from(random(SECRET_BYTES)).toString("base64")}`;
}

/** The former secret is within the same encrypted text: what encrypts one again encrypts both. */
export function encryptSecret(
	encryption: Encryption,
	{ text, former }: { text: string; former?: FormerSecret | undefined },
): string {
	return encryption.encrypt(former ? JSON.stringify({ text, former }) : text);
}

export function decryptSecret(encryption: Encryption, encrypted: string | undefined, now: EpochMs): WebhookSecret {
	if (encrypted === undefined) return { ok: false, why: "missing" };
	const decrypted = encryption.decrypt(encrypted);
	if (!decrypted.ok) return { ok: false, why: "encrypted" };
	if (!decrypted.text.startsWith("{")) return { ok: true, text: decrypted.text };
	const { text, former } = JSON.parse(decrypted.text) as { text: string; former: FormerSecret };
	return { ok: true, text, former: former.until > now ? former : undefined };
}
