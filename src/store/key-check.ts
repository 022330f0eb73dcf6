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
	 * Check values, separated by spaces, of the keys that stored texts may be encrypted with, the latest
	 * first. Undefined if none was stored yet, {@link ANY_KEY} if the operator gave up the old key.
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

/** The stored check value of several keys. */
export function joinChecks(checks: readonly string[]): string {
	return [...new Set(checks)].join(" ");
}

/** The opposite of {@link joinChecks}. */
export function checksIn(stored: string): string[] {
	return stored.split(" ");
}
