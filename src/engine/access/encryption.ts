/** Encrypts stored secrets (D22): AES-256-GCM under a key of the service. */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Random } from "../../ids.ts";

export interface Encryption {
	encrypt(text: string): string;
	/** Not ok when the text was encrypted with another key or was changed. */
	decrypt(encrypted: string): { ok: true; text: string } | { ok: false };
}

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** With a key of 32 bytes. The encrypted text is base64 of nonce, tag and ciphertext. */
export function encryption(key: Uint8Array, random: Random): Encryption {
	return {
		encrypt(text) {
			const nonce = random(NONCE_BYTES);
			const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
			const ciphertext = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
			return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString("base64");
		},
		decrypt(encrypted) {
			const bytes = Buffer.from(encrypted, "base64");
			try {
				const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
					authTagLength: TAG_BYTES,
				});
				decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
				return {
					ok: true,
					text: Buffer.concat([
						decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
						decipher.final(),
					]).toString("utf8"),
				};
			} catch {
				return { ok: false };
			}
		},
	};
}
