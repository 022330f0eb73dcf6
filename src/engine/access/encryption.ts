/** Keeps `s3Config` unreadable at rest (D22): AES-256-GCM under a key of the service. */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Random } from "../../ids.ts";

/** Closes texts and opens them again. */
export interface Encryption {
	close(text: string): string;
	/** Not ok when the text was closed under another key or changed. */
	open(sealed: string): { ok: true; text: string } | { ok: false };
}

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A seal under a key of 32 bytes. The sealed text is base64 of nonce, tag and ciphertext. */
export function encryption(key: Uint8Array, random: Random): Encryption {
	return {
		close(text) {
			const nonce = random(NONCE_BYTES);
			const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
			const closed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
			return Buffer.concat([nonce, cipher.getAuthTag(), closed]).toString("base64");
		},
		open(sealed) {
			const bytes = Buffer.from(sealed, "base64");
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
