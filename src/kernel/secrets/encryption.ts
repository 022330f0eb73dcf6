/** Encrypts stored secrets (D22): AES-256-GCM under a key of the service. */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import type { Random } from "../lib/ids.ts";

/** Not ok when the text was encrypted with an unknown key or was changed. */
type Decrypted = { ok: true; text: string } | { ok: false };

export type Encryption = ReturnType<typeof encryption>;

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `1.<key id>.<base64>`. */
const FORM = /^1\.([0-9a-f]{8})\.([A-Za-z0-9+/]+=*)$/;

/** Names a key without revealing it. */
export function keyId(key: Uint8Array): string {
	return createHmac("sha256", key).update("Sluice key id").digest("hex").slice(0, 8);
}

/** Keys have 32 bytes: the current one encrypts, all decrypt. */
export type KeyRing = readonly [current: Uint8Array, ...earlier: Uint8Array[]];

/** Keys for stored secrets (D22, decision 0033). */
export interface SealKeys {
	ring: KeyRing;
	/** The store's check value as opened, with the current key in use, and of the current key alone. */
	checks: { opened: string; used: string; alone: string };
}

/** The base64 is of nonce, tag and ciphertext. */
export function encryption(ring: KeyRing, random: Random) {
	const known = ring.map((key) => ({ key, id: keyId(key) }));
	const current = known[0]!;
	return {
		/** The current one first. */
		keyIds: known.map(({ id }) => id),
		encrypt(text: string): string {
			const nonce = random(NONCE_BYTES);
			const cipher = createCipheriv(ALGORITHM, current.key, nonce, { authTagLength: TAG_BYTES });
			const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
			const bytes = Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
			return `1.${current.id}.${bytes.toString("base64")}`;
		},
		decrypt(encrypted: string): Decrypted {
			const [, of, base64 = ""] = FORM.exec(encrypted) ?? [];
			const found = known.find(({ id }) => id === of);
			return found ? decryptWith(found.key, Buffer.from(base64, "base64")) : { ok: false };
		},
		isCurrent: (encrypted: string): boolean => encrypted.startsWith(`1.${current.id}.`),
		/** HMAC-SHA-256 of a text with each key, the current one first. Texts of different use must begin differently. */
		macs: (text: string): readonly Buffer[] => known.map(({ key }) => createHmac("sha256", key).update(text).digest()),
	};
}

function decryptWith(key: Uint8Array, bytes: Buffer): Decrypted {
	try {
		const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
			authTagLength: TAG_BYTES,
		});
		decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
		const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
		return { ok: true, text: text.toString("utf8") };
	} catch {
		return { ok: false };
	}
}
