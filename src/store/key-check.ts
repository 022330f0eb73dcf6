/**
 * Recognises the keys that encrypt a store's secrets, without storing them (D22, decisions 0025 and
 * 0033).
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
	 * Check value of the key that encrypts new texts; then, after a space, that of the key of earlier
	 * texts while some may be left. Undefined if none was stored yet, {@link ANY_KEY} if the operator
	 * gave up the old key.
	 */
	check: string | undefined;
	/** Encrypted texts, at most some hundreds, if the store has no check value; else empty. */
	encrypted: string[];
}

/** Replaces a check value until the next key is used: stored by `sluice migrate --new-secret`. */
export const ANY_KEY = "";

/** Returns the check value to store. Throws an Error for the operator if the key does not match. */
export type CheckKey = (stored: StoredSecrets) => string;

/** The check value of a 32-byte key; reveals nothing about the key. */
export function keyCheck(key: Uint8Array, identity: string): string {
	return createHmac("sha256", key).update(`${SIGNED} ${identity}`).digest("hex");
}

/** The check value while texts of a previous key may be left. */
export function bothChecks(current: string, previous: string): string {
	return `${current} ${previous}`;
}

/** The check values of a stored one. */
export function checksIn(stored: string): { sealing: string; earlier: string | undefined } {
	const [sealing = "", earlier] = stored.split(" ");
	return { sealing, earlier };
}
