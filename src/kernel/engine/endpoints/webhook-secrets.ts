/** The secrets that sign webhooks, stored encrypted (D21). */
import type { EpochMs } from "../../lib/time.ts";
import type { Random } from "../../lib/ids.ts";
import type { Encryption } from "../../secrets/encryption.ts";

/** Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32;

/** How long a replaced secret signs too. */
export const SECRET_OVERLAP_MS = 86_400_000;

export interface FormerSecret {
	text: string;
	until: EpochMs;
}

/** A decrypted secret, or why there is none. `encrypted`: it was stored under another `SLUICE_SECRET`. */
export type WebhookSecret =
	| { ok: true; text: string; former?: FormerSecret | undefined }
	| { ok: false; why: "missing" | "encrypted" };

export function newWebhookSecret(random: Random): string {
	return `whsec_${Buffer.from(random(SECRET_BYTES)).toString("base64")}`;
}

/**
 * Returns the secret to store, encrypted. Keeps the current secret if `text` is absent; a replaced one signs too for
 * `overlapMs`.
 */
export function nextSecret(
	{ encryption, random }: { encryption: Encryption; random: Random },
	current: string | undefined,
	{ text, overlapMs, now }: { text: string | undefined; overlapMs: number; now: EpochMs },
): string {
	if (text === undefined) return current ?? encryption.encrypt(newWebhookSecret(random));
	const before = decryptSecret(encryption, current, now);
	// The configuration file sets the same one at each start.
	if (before.ok && before.text === text) return current!;
	// One ciphertext holds both, so that encrypting it again covers the former secret.
	if (before.ok && overlapMs > 0)
		return encryption.encrypt(JSON.stringify({ text, former: { text: before.text, until: now + overlapMs } }));
	return encryption.encrypt(text);
}

export function decryptSecret(encryption: Encryption, encrypted: string | undefined, now: EpochMs): WebhookSecret {
	if (encrypted === undefined) return { ok: false, why: "missing" };
	const decrypted = encryption.decrypt(encrypted);
	if (!decrypted.ok) return { ok: false, why: "encrypted" };
	if (!decrypted.text.startsWith("{")) return { ok: true, text: decrypted.text };
	const { text, former } = JSON.parse(decrypted.text) as { text: string; former: FormerSecret };
	return { ok: true, text, former: former.until > now ? former : undefined };
}
