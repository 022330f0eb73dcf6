/**
 * How a store recognises the key that its secrets are encrypted with, without storing the key (D22,
 * decision 0025).
 */
import { createHmac } from "node:crypto";

/** What is signed with the key, beside the identity of the store. */
const SIGNED = "Sluice secrets";

/** Name under which the check value is stored in `meta`. */
export const CHECK_NAME = "seal";

/** What a store says of its secrets before it is used. */
export interface StoredSecrets {
	/** Identity of the store. */
	identity: string;
	/**
	 * The check value of the key; undefined where none was stored yet, {@link ANY_KEY} where the
	 * operator gave the old key up.
	 */
	check: string | undefined;
	/** Encrypted texts: of a store without a check value, at most some hundreds; else none. */
	encrypted: string[];
}

/** Stands for a check value until the next key arrives: stored by `sluice migrate --new-secret`. */
export const ANY_KEY = "";

/** The check value of a key of 32 bytes: it tells nothing of the key. */
export function keyCheck(key: Uint8Array, identity: string): string {
	return createHmac("sha256", key).update(`${SIGNED} ${identity}`).digest("hex");
}
