/** Recognises a store's keys without storing them (D22, decisions 0025 and 0033). */
import { createHmac } from "node:crypto";

const SIGNED = "Sluice secrets";

/** Name in `meta`. */
export const CHECK_NAME = "seal";

/** Read before the store is used. */
export interface StoredSecrets {
	identity: string;
	/**
	 * Check values of the keys that stored texts may be encrypted with, separated by spaces, the latest first. Undefined
	 * if none was stored yet, {@link ANY_KEY} if the operator gave up the old key.
	 */
	check: string | undefined;
}

/** Stored by `sluice migrate --new-secret`, until the next key is used. */
export const ANY_KEY = "";

/** Returns the check value to store. Throws an Error for the operator if the key does not match. */
export type CheckKey = (stored: StoredSecrets) => string;

/** Reveals nothing about the key. */
export function keyCheck(key: Uint8Array, identity: string): string {
	return createHmac("sha256", key).update(`${SIGNED} ${identity}`).digest("hex");
}

export function joinChecks(checks: readonly string[]): string {
	return [...new Set(checks)].join(" ");
}

/** Undefined if nothing is encrypted, or the operator gave up the old key. */
export function checksIn({ check }: StoredSecrets): string[] | undefined {
	return check === undefined || check === ANY_KEY ? undefined : check.split(" ");
}
