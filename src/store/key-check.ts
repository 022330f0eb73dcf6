/**
 * Recognises the key that encrypts a store's secrets, without storing the key (D22, decision 0025).
 */
import { createHmac } from "node:crypto";

/** Signed with the key, together with the store's identity. */
const SIGNED = "Sluice secrets";

/** Name of the check value in `meta`. */
export const CHECK_NAME = "seal";

/** What a store contains about its secrets, read before it is used. */
export interface StoredSecrets {
	identity: string;
	/**
	 * Check value of the key; undefined if none was stored yet, {@link ANY_KEY} if the operator gave
	 * up the old key.
	 */
	check: string | undefined;
	/** Encrypted texts, at most some hundreds, if the store has no check value; else empty. */
	encrypted: string[];
}

/** Replaces a check value until the next key is used: stored by `sluice migrate --new-secret`. */
export const ANY_KEY = "";

/** The check value of a 32-byte key; reveals nothing about the key. */
export function keyCheck(key: Uint8Array, identity: string): string {
	return createHmac("sha256", key).update(`${SIGNED} ${identity}`).digest("hex");
}
